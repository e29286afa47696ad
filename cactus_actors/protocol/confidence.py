"""Confidence signals: how sure a model was of its answer, as one number in [0, 1].

Signals are computed from the normalised entropies and log probabilities of some tokens, see Measures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

SignalName = Literal["entropy", "min_token_prob", "answer_prob", "probe"]
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
        weights = (self.entropy_mean, self.entropy_max, self.surprise_mean, self.surprise_max, self.length)
        total = self.bias + sum(weight * feature for weight, feature in zip(weights, features, strict=True))
        return 1.0 / (1.0 + math.exp(min(700.0, -total)))


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


def signal_named(name: SignalName, probe: Probe | None = None) -> Signal:
    """The signal of that name; the signal `probe` needs `probe`."""
    signals = {"entropy": entropy_confidence, "min_token_prob": min_token_prob, "answer_prob": answer_prob}
    signal = signals.get(name, probe)
    assert signal is not None
    return signal


def _logarithm(value: float) -> float:
    return math.log(max(value, 0.0) + _TINY)
