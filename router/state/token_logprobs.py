"""Formats likely tokens for a job: ids and values from the worker, texts from the tokenizer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from cactus_actors.protocol.results import Alternative, TokenLogprob

Likely = Sequence[tuple[int, float]]
"""Token ids and log probabilities, in falling order."""


class TokenDecoder(Protocol):
    """The part of a tokenizer that is used here."""

    def token_bytes(self, token_id: int) -> bytes: ...

    def token_of(self, token_id: int) -> str | None: ...


def token_logprob(token_id: int, logprob: float, likely: Likely, texts: TokenDecoder) -> TokenLogprob:
    """A token and its alternatives; the first token has no probability (NaN)."""
    return TokenLogprob(
        token_id=token_id,
        token=_written(token_id, texts),
        bytes=list(texts.token_bytes(token_id)),
        logprob=None if math.isnan(logprob) else logprob,
        top=[Alternative(other, _written(other, texts), value) for other, value in likely],
    )


def _written(token_id: int, texts: TokenDecoder) -> str:
    """The text of a token; the name of a control token; numbers for bytes that are not UTF-8."""
    content = texts.token_bytes(token_id)
    if not content:
        return texts.token_of(token_id) or ""
    try:
        return content.decode()
    except UnicodeDecodeError:
        return "bytes:" + "".join(f"\\x{byte:02x}" for byte in content)
