"""Incremental detokenization: whole characters only, and no text that may become a stop string."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.workers.engine.reasoning_tracker import ReasoningTracker


class TokenBytes(Protocol):
    """The method of a tokenizer that detokenization needs."""

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes of a token; empty for control tokens."""
        ...


class TextDelta(NamedTuple):
    """New text of the answer, and of the reasoning before it."""

    text: str = ""
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class StopMatch:
    """A stop string in the text: `start` and `end` in characters."""

    stop: str
    start: int
    end: int


class Detokenizer:
    """The text of one sequence, incrementally.

    Its state after n tokens depends on those n tokens alone: replaying them through a new detokenizer reaches
    the same state. The texts returned by `feed`, then that of `flush`, make up the completion.

    A control token in `params.visible_tokens` has the text given there. With `params.reasoning`, `reasoning`
    splits reasoning from the answer.

    Stop strings are searched in the answer only, from token number `min_tokens` (counted from 1) on; earlier
    text is neither searched nor held back. The match that is complete first wins, the longer one on ties.
    """

    __slots__ = (
        "_decoder",
        "_held",
        "_include_stop",
        "_is_whole",
        "_min_tokens",
        "_num_tokens",
        "_stops",
        "_tokenizer",
        "_visible",
        "reasoning",
        "stop_match",
    )

    def __init__(self, tokenizer: TokenBytes, params: SamplingParams) -> None:
        self._tokenizer = tokenizer
        self._stops = params.stop
        self._include_stop = params.include_stop_sequences
        self._min_tokens = params.min_tokens
        self._visible = {token_id: text.encode() for token_id, text in params.visible_tokens}
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._is_whole = True  # no character is incomplete
        self._held = ""
        self._num_tokens = 0
        self.stop_match: str | None = None
        self.reasoning = None if params.reasoning is None else ReasoningTracker(params.reasoning)

    def feed(self, token_id: int) -> TextDelta:
        """Add a token; returns the text released by it. After a stop match no more text is released."""
        self._num_tokens += 1
        visible = self._visible.get(token_id)
        content = self._tokenizer.token_bytes(token_id) if visible is None else visible
        text = self._decode(content)
        if self.reasoning is None:
            return TextDelta(self._advance(text) if self._stops else text)
        split = self.reasoning.feed(text, is_whole=self._is_whole)
        return TextDelta(self._advance(split.text), split.reasoning)

    def skip(self) -> None:
        """Count a token without text: the end token."""
        self._num_tokens += 1
        if self.reasoning is not None:
            self.reasoning.feed("", is_whole=True)

    def flush(self) -> TextDelta:
        """The text held back at the end of a sequence; an incomplete character becomes U+FFFD."""
        text, reasoning = self._decoder.decode(b"", final=True), ""
        if self.reasoning is not None:
            reasoning, text = self.reasoning.finish(text)
        shown = self._advance(text)
        held, self._held = self._held, ""
        return TextDelta(shown + held, reasoning)

    def _decode(self, content: bytes) -> str:
        """The characters that these bytes complete; a token is most often some whole ones."""
        if self._is_whole:
            try:
                return content.decode()
            except UnicodeDecodeError:
                pass
        text = self._decoder.decode(content)
        self._is_whole = not self._decoder.getstate()[0]
        return text

    def _advance(self, text: str) -> str:
        if self.stop_match is not None:
            return ""
        if not self._stops or self._num_tokens < self._min_tokens:
            return text
        self._held += text
        match = first_stop(self._held, self._stops)
        if match is not None:
            self.stop_match = match.stop
            shown = self._held[: match.end if self._include_stop else match.start]
            self._held = ""
            return shown
        split = len(self._held) - longest_stop_prefix(self._held, self._stops)
        shown, self._held = self._held[:split], self._held[split:]
        return shown


def first_stop(text: str, stops: Sequence[str]) -> StopMatch | None:
    """The stop string that is complete first in `text`; on ties the one that starts first."""
    starts = ((stop, text.find(stop)) for stop in stops)
    matches = (StopMatch(stop, start, start + len(stop)) for stop, start in starts if start >= 0)
    return min(matches, key=lambda match: (match.end, match.start), default=None)


def longest_stop_prefix(text: str, stops: Sequence[str]) -> int:
    """Length of the longest end of `text` that is a proper beginning of a stop string."""
    longest = min(len(text), max(map(len, stops)) - 1)
    for length in range(longest, 0, -1):
        if any(len(stop) > length and stop.startswith(text[-length:]) for stop in stops):
            return length
    return 0
