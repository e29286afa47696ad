"""Confidence signals: how sure a model was of its answer, as one number in [0, 1].

Signals are computed from the normalised entropies and log probabilities of some tokens, see Measures.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Annotated, Literal

import msgspec

FittedSignalName = Literal["entropy", "min_token_prob", "answer_prob", "probe"]
"""The signals from which a Probability can be fitted."""
SignalName = Literal["entropy", "min_token_prob", "answer_prob", "probe", "probability"]
DEFAULT_SIGNAL: SignalName = "answer_prob"
"""The signal with the highest AUROC of those that need no fit (docs/internals/performance.md)."""
Signal = Callable[[Sequence[float], Sequence[float]], float]

_TINY = 1e-9


class Probe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A logistic regression on features of an answer: the probability that it is right.

    It is fitted for one model, and invalid for others. The features are natural logarithms: of the
    mean and the largest entropy, of minus the mean and minus the smallest log probability, of the number of
    tokens.
    """

    bias: float
    entropy_mean: float
    entropy_max: float
    surprise_mean: float
    surprise_max: float
    length: float

    def __call__(self, entropies: Sequence[float], logprobs: Sequence[float]) -> float:
        """The probability, of at least one token."""
        return self.of_features(probe_features(entropies, logprobs))

    def of_features(self, features: Sequence[float]) -> float:
        """The probability, by `probe_features`."""
        entropy_mean, entropy_max, surprise_mean, surprise_max, length = features
        weighted = (
            self.entropy_mean * entropy_mean,
            self.entropy_max * entropy_max,
            self.surprise_mean * surprise_mean,
            self.surprise_max * surprise_max,
            self.length * length,
        )
        total = self.bias + sum(weighted)
        return 1.0 / (1.0 + math.exp(min(700.0, -total)))


class Probability(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The probability that an answer is right, as a rising function of the score of `signal`.

    It is linear between the points of `scores` and `probabilities`, and constant beyond them. It is fitted for one
    model and one format of its weights.
    """

    signal: FittedSignalName
    scores: Annotated[list[float], msgspec.Meta(min_length=1)]
    probabilities: list[Annotated[float, msgspec.Meta(ge=0, le=1)]]

    def __post_init__(self) -> None:
        if len(self.scores) != len(self.probabilities):
            raise ValueError("scores and probabilities must have the same length")
        if any(left >= right for left, right in zip(self.scores, self.scores[1:], strict=False)):
            raise ValueError("scores must rise")
        if any(left > right for left, right in zip(self.probabilities, self.probabilities[1:], strict=False)):
            raise ValueError("probabilities must not fall")

    def __call__(self, score: float) -> float:
        """The probability at a score."""
        after = bisect_right(self.scores, score)
        if after == 0:
            return self.probabilities[0]
        if after == len(self.scores):
            return self.probabilities[-1]
        left, right = self.scores[after - 1], self.scores[after]
        low, high = self.probabilities[after - 1], self.probabilities[after]
        return low + (high - low) * (score - left) / (right - left)

    def over(self, signal: Signal) -> Signal:
        """The signal that has the probabilities of the scores of `signal`."""
        return lambda entropies, logprobs: self(signal(entropies, logprobs))


class SignalFits(msgspec.Struct, frozen=True):
    """The fits of a model's signals: the signal `probe` needs its probe, the signal `probability` its function."""

    probe: Probe | None = None
    probability: Probability | None = None


NO_FITS = SignalFits()


def probe_features(entropies: Sequence[float], logprobs: Sequence[float]) -> tuple[float, ...]:
    """The features of a Probe, in the order of its fields."""
    count = len(entropies)
    means = sum(entropies) / count, sum(logprobs) / count
    return features_of(means[0], max(entropies), means[1], min(logprobs), count)


def features_of(
    entropy_mean: float, entropy_max: float, mean_logprob: float, min_logprob: float, num_tokens: int
) -> tuple[float, ...]:
    """`probe_features` from aggregated values."""
    return (
        _logarithm(entropy_mean),
        _logarithm(entropy_max),
        _logarithm(-mean_logprob),
        _logarithm(-min_logprob),
        math.log(num_tokens),
    )


def entropy_confidence(entropies: Sequence[float], _logprobs: Sequence[float]) -> float:
    """1 - mean normalised entropy."""
    return 1.0 - sum(entropies) / len(entropies)


def min_token_prob(_entropies: Sequence[float], logprobs: Sequence[float]) -> float:
    """The probability of the least likely token that was chosen."""
    return math.exp(min(0.0, *logprobs))


def answer_prob(_entropies: Sequence[float], logprobs: Sequence[float]) -> float:
    """The probability of all tokens together, which falls with every token."""
    return math.exp(min(0.0, sum(logprobs)))


def signal_named(name: SignalName, fits: SignalFits = NO_FITS) -> Signal:
    """The signal of that name, which must have its fit if it needs one."""
    if name == "probability":
        assert fits.probability is not None
        return fits.probability.over(signal_named(fits.probability.signal, fits))
    signals = {"entropy": entropy_confidence, "min_token_prob": min_token_prob, "answer_prob": answer_prob}
    signal = signals.get(name, fits.probe)
    assert signal is not None
    return signal


def _logarithm(value: float) -> float:
    return math.log((0.0 if value < 0.0 else value) + _TINY)
