"""The reasoning of a job's model, and its confidence in the answer alone."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Protocol


class ConfidenceSamples(Protocol):
    """Normalised entropies and log probabilities, one each a token, from which confidence is made."""

    @property
    def entropies(self) -> Sequence[float]: ...

    @property
    def logprobs(self) -> Sequence[float]: ...


class ReasoningLog:
    """The part of a token log that only a job has whose model reasons.

    `texts` has one reasoning a token of the log. `entropies` and `logprobs` are those of the answer's tokens
    alone, in order.
    """

    __slots__ = ("_flags", "entropies", "logprobs", "tail", "texts")

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.tail = ""
        self._flags = bytearray()
        self.entropies = array("d")
        self.logprobs = array("d")

    @property
    def text(self) -> str:
        return "".join(self.texts) + self.tail

    @property
    def num_tokens(self) -> int:
        """The number of reasoning tokens."""
        return sum(self._flags)

    def extend(self, log: ConfidenceSamples, position: int, texts: Sequence[str], flags: Sequence[int]) -> None:
        """Take what a delta says that the log has just taken: of its tokens, and of some before them.

        `texts` has one a token from `position` on, `flags` one for each of the last tokens.
        """
        num_known, num_tokens = len(self.texts), max(position + len(texts), len(self.texts))
        self.texts += [""] * (num_tokens - num_known)
        for index in range(max(num_known, position), num_tokens):
            self.texts[index] = texts[index - position]
        if num_tokens > num_known:
            self.texts[num_known], self.tail = self.tail + self.texts[num_known], ""
        self._flag(log, num_tokens, flags)

    def _flag(self, log: ConfidenceSamples, num_tokens: int, flags: Sequence[int]) -> None:
        flags = flags[max(0, len(flags) - num_tokens) :]  # a worker may tell more than there are tokens
        num_known, first = len(self._flags), num_tokens - len(flags)
        num_measured = min(len(log.entropies), len(log.logprobs))  # and fewer of one than of the other
        self._flags.extend(bytes(num_tokens - num_known))
        for index in range(min(num_known, first), num_tokens):
            is_reasoning = index >= first and flags[index - first]
            if not is_reasoning and (index >= num_known or self._flags[index]) and index < num_measured:
                self.entropies.append(log.entropies[index])
                self.logprobs.append(log.logprobs[index])
            self._flags[index] = bool(is_reasoning)
