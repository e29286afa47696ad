"""Hashes of full blocks of tokens, with which workers report the content of their prefix caches.

A block's digest covers the salt, the adapter, all tokens up to its last, and the pictures whose placeholder tokens
are among them: two that are equal begin the same prompts. Its short hash, the first 8 bytes, is for messages and for
choosing a worker, for which a wrong match costs time only.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Sequence
from typing import NamedTuple

from cactus_actors.protocol.pictures import PreparedPicture

BLOCK_SIZE = 16
"""The default number of tokens of a block."""

DIGEST_BYTES = 16
_TOKEN_BYTES = 4


def root_digest(salt: str, adapter: str = "") -> bytes:
    """The parent digest of a prompt's first block; `adapter` identifies its weights, and is empty for the model."""
    digest = hashlib.blake2b(salt.encode(), digest_size=DIGEST_BYTES, person=b"salt").digest()
    if not adapter:
        return digest
    return hashlib.blake2b(digest + adapter.encode(), digest_size=DIGEST_BYTES, person=b"adapter").digest()


class PictureSpan(NamedTuple):
    """The tokens of a picture: indices of its first placeholder and of the token after its last one."""

    digest: bytes
    start: int
    end: int


def picture_spans(
    token_ids: Sequence[int], image_token_id: int, pictures: Sequence[PreparedPicture]
) -> tuple[PictureSpan, ...]:
    """The span of each picture; raises ValueError unless each of their embeddings has one placeholder."""
    if not pictures:
        return ()
    places = [index for index, token_id in enumerate(token_ids) if token_id == image_token_id]
    counts = [sum(tile.num_tokens for tile in picture.tiles) for picture in pictures]
    if min(counts) < 1 or sum(counts) != len(places):
        raise ValueError(f"{len(places)} placeholder tokens for pictures of {counts} tokens")
    spans = []
    first = 0
    for picture, count in zip(pictures, counts, strict=True):
        spans.append(PictureSpan(picture.digest, places[first], places[first + count - 1] + 1))
        first += count
    return tuple(spans)


def digests_within(spans: Sequence[PictureSpan], start: int, end: int) -> bytes:
    """The digests of the pictures that have tokens from `start` to before `end`."""
    return b"".join(span.digest for span in spans if span.start < end and span.end > start)


def block_digest(parent: bytes, tokens: bytes, pictures: bytes = b"") -> bytes:
    """The digest of the block after `parent`.

    `tokens` are its token ids, int32, in native byte order; `pictures` are the digests of the pictures within it.
    """
    return hashlib.blake2b(parent + tokens + pictures, digest_size=DIGEST_BYTES).digest()


def short_hash(digest: bytes) -> int:
    """The 64 bits of a digest that messages carry."""
    return int.from_bytes(digest[:8], "little")


def block_hashes(
    token_ids: Sequence[int], salt: str = "", spans: Sequence[PictureSpan] = (), adapter: str = ""
) -> tuple[int, ...]:
    """The short hashes of the full blocks of BLOCK_SIZE tokens; `spans` are those of the prompt's pictures."""
    tokens = array("i", token_ids).tobytes()
    hashes: list[int] = []
    digest = root_digest(salt, adapter)
    size = BLOCK_SIZE * _TOKEN_BYTES
    for start in range(0, len(tokens) - size + 1, size):
        first = start // _TOKEN_BYTES
        pictures = digests_within(spans, first, first + BLOCK_SIZE)
        digest = block_digest(digest, tokens[start : start + size], pictures)
        hashes.append(short_hash(digest))
    return tuple(hashes)
