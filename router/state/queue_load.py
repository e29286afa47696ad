"""The memory that waiting requests take in the router."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cactus_actors.router.state.encoded_picture import EncodedPicture
from cactus_actors.router.state.prepared_request import PreparedRequest

TOKEN_BYTES = 44
"""Bytes for a token of a prompt: an entry of a list, an integer, and its share of a block's hash."""

REQUEST_BYTES = 2048
"""Bytes for a request in addition to its content: the records, and the entries of tables."""


@dataclass(slots=True)
class QueueLoad:
    """The load of waiting requests: their number, tokens of prompts, and bytes of memory."""

    num_jobs: int = 0
    num_tokens: int = 0
    num_bytes: int = 0

    def __iadd__(self, other: QueueLoad) -> QueueLoad:
        self.num_jobs += other.num_jobs
        self.num_tokens += other.num_tokens
        self.num_bytes += other.num_bytes
        return self

    def __isub__(self, other: QueueLoad) -> QueueLoad:
        self.num_jobs -= other.num_jobs
        self.num_tokens -= other.num_tokens
        self.num_bytes -= other.num_bytes
        return self

    def with_pictures(self, pictures: Sequence[EncodedPicture]) -> QueueLoad:
        """The load together with the files of pictures, while these are held."""
        num_bytes = self.num_bytes + sum(len(picture.content) for picture in pictures)
        return QueueLoad(self.num_jobs, self.num_tokens, num_bytes)


def load_of_request(content: bytes, prepared: PreparedRequest | None = None) -> QueueLoad:
    """The load of an encoded request, and of the prepared request."""
    if prepared is None:
        return QueueLoad(1, 0, REQUEST_BYTES + len(content))
    num_tokens = len(prepared.prompt_ids)
    num_bytes = REQUEST_BYTES + len(content) + TOKEN_BYTES * num_tokens + len(prepared.grammar)
    num_bytes += sum(picture.num_bytes for picture in prepared.pictures)
    return QueueLoad(1, num_tokens, num_bytes)
