"""The reasoning of a job's model, and its confidence in the answer alone."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from cactus_actors.protocol.handoff_gates import ConfidenceSamples


class ReasoningLog:
    """The reasoning in the token log of a job whose model reasons.

    `texts` has one text of reasoning per token of the log. `entropies` and `logprobs` are those of the answer's tokens
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
        """Add the reasoning of a delta whose tokens are in the log already; it may correct flags of earlier tokens.

        `texts` has one per token from `position` on, `flags` one for each of the last tokens.
        """
        num_known, num_tokens = len(self.texts), max(position + len(texts), len(self.texts))
        self.texts += [""] * (num_tokens - num_known)
        for index in range(max(num_known, position), num_tokens):
            self.texts[index] = texts[index - position]
        if num_tokens > num_known:
            self.texts[num_known], self.tail = self.tail + self.texts[num_known], ""
        self._flag(log, num_tokens, flags)

    def _flag(self, log: ConfidenceSamples, num_tokens: int, flags: Sequence[int]) -> None:
        flags = flags[max(0, len(flags) - num_tokens) :]  # a worker may send more than there are tokens
        num_known, first = len(self._flags), num_tokens - len(flags)
        num_measured = min(len(log.entropies), len(log.logprobs))  # and fewer of one than of the other
        self._flags.extend(bytes(num_tokens - num_known))
        for index in range(min(num_known, first), num_tokens):
            is_reasoning = index >= first and flags[index - first]
            if not is_reasoning and (index >= num_known or self._flags[index]) and index < num_measured:
                self.entropies.append(log.entropies[index])
                self.logprobs.append(log.logprobs[index])
            self._flags[index] = bool(is_reasoning)
