"""The gates at which the confidence signal of a job is compared with its threshold.

The router applies them to tokens as they arrive, and `cactus calibrate` to the tokens of ended jobs.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from cactus_actors.protocol.confidence import Signal

WINDOW = 10
"""Tokens of the rolling window, and at most of the first gate."""
COMMIT_TOKENS = 10
Gate = Literal["prompt", "first token", "first tokens", "rolling window", "end of generation"]
HANDED_OFF = 0.0
"""A value below any threshold of a job that may be handed off."""


class ConfidenceSamples(Protocol):
    """Normalised entropies and log probabilities, one of each per token, from which confidence is computed."""

    @property
    def entropies(self) -> Sequence[float]: ...

    @property
    def logprobs(self) -> Sequence[float]: ...


class GateValue(NamedTuple):
    """The value of a signal at the gate after `num_tokens` tokens."""

    num_tokens: int
    value: float


@dataclass(frozen=True, slots=True)
class HandoffGates:
    """The positions of the gates.

    The first gate judges the first `first_tokens` tokens; each later one judges a full window of WINDOW tokens, or of
    `commit_tokens` if that is less. With `first_tokens` 0 there is no gate before the end. Gates after
    `commit_tokens` tokens come too late to hand off, except the one at the end, which judges all tokens.

    With a `prompt_threshold` there is a gate before all of these: it judges the prompt alone, by the value of a
    PromptProbe, and hands off below this threshold, whichever the threshold of the signal is.
    """

    first_tokens: int = 1
    commit_tokens: int = COMMIT_TOKENS
    prompt_threshold: float | None = None

    def fails_at_prompt(self, prompt: float | None) -> bool:
        """True if the gate on the prompt hands off at this value; None is a prompt without one, which passes."""
        return prompt is not None and self.prompt_threshold is not None and prompt < self.prompt_threshold

    def value_after(self, count: int, signal: Signal, samples: ConfidenceSamples) -> float | None:
        """The value at the gate after the first `count` tokens, None if there is no gate before the end."""
        judged = self.judged_after(count)
        return None if judged is None else signal(samples.entropies[judged], samples.logprobs[judged])

    def judged(self, num_tokens: int) -> Sequence[slice]:
        """The tokens that each gate judges that may hand off, in order, of an answer of `num_tokens`, at least one."""
        return _judged(self, num_tokens)

    def values(self, signal: Signal, samples: ConfidenceSamples, prompt: float | None = None) -> Iterator[GateValue]:
        """The values at all gates that may hand off, in order, of an answer of at least one token.

        A prompt of the value `prompt` that fails its gate has the value HANDED_OFF there.
        """
        if self.fails_at_prompt(prompt):
            yield GateValue(0, HANDED_OFF)
        for judged in self.judged(len(samples.entropies)):
            yield GateValue(judged.stop, signal(samples.entropies[judged], samples.logprobs[judged]))

    def lowest(self, signal: Signal, samples: ConfidenceSamples, prompt: float | None = None) -> float:
        """The lowest value at a gate that may hand off: the answer stays if this reaches the threshold."""
        entropies, logprobs = samples.entropies, samples.logprobs
        values = [signal(entropies[judged], logprobs[judged]) for judged in self.judged(len(entropies))]
        return min(values if not self.fails_at_prompt(prompt) else [HANDED_OFF, *values])

    def tokens_before_handoff(
        self, signal: Signal, samples: ConfidenceSamples, threshold: float, prompt: float | None = None
    ) -> int | None:
        """The number of tokens after which the answer is handed off, None if it stays."""
        return next((count for count, value in self.values(signal, samples, prompt) if value < threshold), None)

    def judged_after(self, count: int) -> slice | None:
        """The tokens that the gate after the first `count` judges, None if there is no gate before the end."""
        window = max(1, min(WINDOW, self.commit_tokens))
        if not self.first_tokens or count < self.first_tokens or self.first_tokens < count < window:
            return None
        return slice(max(0, count - WINDOW), count)


@functools.lru_cache(maxsize=1024)
def _judged(gates: HandoffGates, num_tokens: int) -> tuple[slice, ...]:
    first, commit = gates.first_tokens, gates.commit_tokens
    last = min(max(1, commit), num_tokens)
    counts = (first, *range(max(first + 1, min(WINDOW, commit)), last + 1)) if 0 < first <= last else ()
    early = [judged for count in counts if (judged := gates.judged_after(count)) is not None]
    return (*early, slice(0, num_tokens))


DEFAULT_GATES = HandoffGates()
