"""Log probabilities in OpenAI's two formats."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from typing import Any

from cactus_actors.protocol.results import TokenLogprob

LEAST_LOGPROB = -9999.0
"""In place of minus infinity, which JSON cannot write."""


def chat_logprobs(tokens: Sequence[TokenLogprob]) -> dict[str, Any]:
    """The `logprobs` of a chat choice, one entry a token."""
    return {
        "content": [
            {
                "token": token.token,
                "logprob": _written(token.logprob),
                "bytes": token.bytes,
                "top_logprobs": [
                    {
                        "token": other.token,
                        "logprob": _written(other.logprob),
                        "bytes": list(_bytes_of(other.token)),
                    }
                    for other in token.top
                ],
            }
            for token in tokens
        ],
        "refusal": None,
    }


class TextLogprobs:
    """The `logprobs` of a text choice, rendered piece by piece.

    Offsets count characters of the returned text from `first_offset` on; a token in the middle of a character
    has the offset after the last complete one.
    """

    def __init__(self, first_offset: int = 0) -> None:
        self._offset = first_offset
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def render(self, tokens: Sequence[TokenLogprob], *, num_left_out: int = 0) -> dict[str, Any]:
        """One entry a token; the first ones are for `num_left_out` characters that are not in the text."""
        start = self._offset
        offsets: list[int] = []
        at = start - num_left_out
        for token in tokens:
            offsets.append(max(start, at))
            at += len(self._decoder.decode(bytes(token.bytes)))
        self._offset = max(start, at)
        return {
            "tokens": [token.token for token in tokens],
            "token_logprobs": [_written(token.logprob) for token in tokens],
            "top_logprobs": [_top(token) for token in tokens],
            "text_offset": offsets,
        }


def num_left_out(tokens: Sequence[TokenLogprob], text: str | None) -> int:
    """Number of leading characters of the `tokens` that are not in `text`.

    Many tokenizers put a space before a text, which the echoed prompt does not have.
    """
    if text is None:
        return 0
    written = b"".join(bytes(token.bytes) for token in tokens).decode(errors="replace")
    return max(0, len(written) - len(text)) if written.endswith(text) else 0


def _top(token: TokenLogprob) -> dict[str, float] | None:
    """The likely tokens and the chosen one; of two with the same text the likelier."""
    if token.logprob is None:
        return None
    likely: dict[str, float] = {}
    for other in token.top:
        likely.setdefault(other.token, max(other.logprob, LEAST_LOGPROB))
    if likely:
        likely.setdefault(token.token, max(token.logprob, LEAST_LOGPROB))
    return likely


def _written(logprob: float | None) -> float | None:
    return None if logprob is None else max(logprob, LEAST_LOGPROB)


def _bytes_of(token: str) -> bytes:
    if token.startswith("bytes:\\x"):
        return bytes.fromhex(token.removeprefix("bytes:").replace("\\x", ""))
    return token.encode()
