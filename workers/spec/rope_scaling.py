"""Scalings that extend a rotary embedding beyond the context of the training.

Every step is rounded to float32 in the order of Hugging Face transformers (`modeling_rope_utils`), because
those are the frequencies that models are trained and compared with.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cactus_actors.protocol.errors import ModelFileInvalid

Floats = NDArray[np.float32]
ONE = np.float32(1)
LEAST, MOST = 1e-30, 2e30  # GGUF files divide by float32(1e30), which is above 1e30, where nothing is to turn


class RopeScaling(ABC):
    """Turns the wavelengths of an embedding, positions per radian, into frequencies, radians per position."""

    @property
    def amplitude(self) -> float:
        """The factor of cosines and sines."""
        return 1.0

    @abstractmethod
    def frequencies(self, wavelengths: Floats, theta: float) -> Floats:
        """Frequencies of all pairs of lanes; `theta` is the base that the wavelengths are powers of.

        Raises ModelFileInvalid when the scaling is for another number of pairs.
        """


@dataclass(frozen=True)
class LinearScaling(RopeScaling):
    """Positions divided by `factor` (Chen et al. 2023, Position Interpolation)."""

    factor: float

    def __post_init__(self) -> None:
        _require_positive(self.factor)

    def frequencies(self, wavelengths: Floats, theta: float) -> Floats:  # noqa: ARG002
        return ONE / wavelengths / np.float32(self.factor)


@dataclass(frozen=True)
class ProportionalScaling(RopeScaling):
    """The first `part` of the pairs turn, at their frequencies divided by `factor`; the others do not."""

    part: float
    factor: float = 1.0

    def __post_init__(self) -> None:
        _require_positive(self.factor)
        _require(0 <= self.part <= 1, "partial_rotary_factor must be 0 to 1")

    def frequencies(self, wavelengths: Floats, theta: float) -> Floats:  # noqa: ARG002
        num_turning = int(self.part * 2 * len(wavelengths) // 2)
        turning = ONE / wavelengths / np.float32(self.factor)
        return np.where(np.arange(len(wavelengths)) < num_turning, turning, np.float32(0))


@dataclass(frozen=True)
class FactorsScaling(RopeScaling):
    """Every frequency divided by a factor of its own (`rope_freqs.weight` in GGUF files)."""

    factors: tuple[float, ...]

    def __post_init__(self) -> None:
        _require_positive(*self.factors)

    def frequencies(self, wavelengths: Floats, theta: float) -> Floats:  # noqa: ARG002
        return ONE / wavelengths / _one_for_each("rope_freqs", self.factors, wavelengths)


@dataclass(frozen=True)
class Llama3Scaling(RopeScaling):
    """Low frequencies divided by `factor`, high ones kept, a ramp between (Llama 3.1's reference code).

    A frequency is low when it turns less than `low_freq_factor` times in `original_context` positions, high
    when it turns more than `high_freq_factor` times.
    """

    factor: float
    low_freq_factor: float
    high_freq_factor: float
    original_context: int

    def __post_init__(self) -> None:
        _require_positive(self.factor, self.low_freq_factor, self.high_freq_factor, self.original_context)
        _require(self.low_freq_factor < self.high_freq_factor, "low_freq_factor must be below high_freq_factor")

    def frequencies(self, wavelengths: Floats, theta: float) -> Floats:  # noqa: ARG002
        kept = ONE / wavelengths
        turn = np.float32(2 * math.pi) / kept  # positions
        ramp = (np.float32(self.original_context) / turn - np.float32(self.low_freq_factor)) / np.float32(
            self.high_freq_factor - self.low_freq_factor
        )
        divided = kept / np.float32(self.factor)
        between = (1 - ramp) * kept / np.float32(self.factor) + ramp * kept
        is_low = turn > np.float32(self.original_context / self.low_freq_factor)
        is_high = turn < np.float32(self.original_context / self.high_freq_factor)
        return np.where(is_low, divided, np.where(is_high, kept, between))


@dataclass(frozen=True, kw_only=True)
class YarnScaling(RopeScaling):
    """High frequencies kept, low ones divided by `factor`, a ramp over the pairs (YaRN, Peng et al. 2023).

    The ramp runs from the pair that turns `beta_fast` times in `original_context` positions to the one that
    turns `beta_slow` times, both rounded outwards if `truncate`. The amplitude is `attention_factor` if
    given, else the paper's 0.1 ln(factor) + 1, or the ratio of two such terms with `mscale` and
    `mscale_all_dim` before their logarithms (DeepSeek-V2).
    """

    factor: float
    original_context: int
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    mscale: float | None = None
    mscale_all_dim: float | None = None
    attention_factor: float | None = None
    truncate: bool = True

    def __post_init__(self) -> None:
        _require_positive(self.factor, self.original_context, self.beta_fast, self.beta_slow)

    @property
    def amplitude(self) -> float:
        if self.attention_factor is not None:
            return self.attention_factor
        if self.mscale and self.mscale_all_dim:
            return self._sharpness(self.mscale) / self._sharpness(self.mscale_all_dim)
        return self._sharpness(1.0)

    def frequencies(self, wavelengths: Floats, theta: float) -> Floats:
        num_pairs = len(wavelengths)
        low, high = (self._pair_with_rotations(beta, num_pairs, theta) for beta in (self.beta_fast, self.beta_slow))
        if self.truncate:
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, 2 * num_pairs - 1)
        if low == high:
            high += 0.001
        pairs = np.arange(num_pairs, dtype=np.float32)
        kept = 1 - np.clip((pairs - np.float32(low)) / np.float32(high - low), 0, 1)
        divided = ONE / (np.float32(self.factor) * wavelengths)
        blend: Floats = divided * (1 - kept) + ONE / wavelengths * kept
        return blend

    def _pair_with_rotations(self, turns: float, num_pairs: int, theta: float) -> float:
        """The (fractional) pair that turns `turns` times in the original context."""
        wavelength = self.original_context / (turns * 2 * math.pi)
        return num_pairs * math.log(wavelength) / math.log(theta)

    def _sharpness(self, mscale: float) -> float:
        return 0.1 * mscale * math.log(self.factor) + 1 if self.factor > 1 else 1.0


@dataclass(frozen=True, kw_only=True)
class LongRopeScaling(RopeScaling):
    """Every frequency divided by a factor of its own, found by search (LongRoPE, Ding et al. 2024).

    A model that is served for more than `original_context` positions uses the long factors for all of them,
    any other the short ones, so that keys in the cache stay valid while a sequence grows. The amplitude is
    `attention_factor` if given, else sqrt(1 + ln(factor) / ln(original_context)).
    """

    short_factors: tuple[float, ...]
    long_factors: tuple[float, ...]
    original_context: int
    factor: float  # the model's full context by the original one
    attention_factor: float | None = None
    max_context: int | None = None  # positions that the model is served for, if not its full context

    def __post_init__(self) -> None:
        _require_positive(*self.short_factors, *self.long_factors, self.factor)
        _require(self.original_context > 1, "the original context must be above 1")
        _require(
            len(self.short_factors) == len(self.long_factors),
            f"short_factor has {len(self.short_factors)} factors, long_factor {len(self.long_factors)}",
        )

    @property
    def amplitude(self) -> float:
        if self.attention_factor is not None:
            return self.attention_factor
        return math.sqrt(1 + max(0.0, math.log(self.factor)) / math.log(self.original_context))

    def frequencies(self, wavelengths: Floats, theta: float) -> Floats:  # noqa: ARG002
        served = self.factor * self.original_context if self.max_context is None else self.max_context
        is_long = served > self.original_context
        name, factors = ("long_factor", self.long_factors) if is_long else ("short_factor", self.short_factors)
        with np.errstate(over="ignore"):  # what does not turn at all
            return ONE / (_one_for_each(name, factors, wavelengths) * wavelengths)


def _one_for_each(name: str, factors: tuple[float, ...], wavelengths: Floats) -> Floats:
    num_pairs = len(wavelengths)
    _require(len(factors) == num_pairs, f"{name} has {len(factors)} factors for {num_pairs} pairs of lanes")
    return np.array(factors, dtype=np.float32)


def _require_positive(*numbers: float) -> None:
    are_usable = all(LEAST <= number <= MOST for number in numbers)
    _require(are_usable, f"rotary scaling needs positive numbers, {LEAST} to {MOST}")


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ModelFileInvalid(message)
