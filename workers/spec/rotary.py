"""Cosines and sines of rotary position embeddings (Su et al. 2021).

Angles are products of a position and a frequency in float32, as models see them in training; the exact
angle of position p is up to about p * 1e-7 away. Cosines and sines are taken in float64.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cactus_actors.protocol.errors import ModelFileInvalid
from cactus_actors.workers.kernels.aligned_memory import aligned_zeros, round_up
from cactus_actors.workers.spec.rope_scaling import LongRopeScaling, RopeScaling

ROWS_AT_ONCE = 1024
"""Positions whose angles are in memory together while tables are made."""


@dataclass(frozen=True)
class Rope:
    """The first `rotary_dim` lanes of a head turn in pairs: pair i at theta^(-2i / rotary_dim).

    `axes` has the axis of each pair, if tokens have positions on several (see `interleaved_axes`).
    """

    theta: float
    rotary_dim: int
    scaling: RopeScaling | None = None
    axes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not 1 < self.theta < math.inf:
            raise ModelFileInvalid(f"rope_theta, the base of a rotary embedding, is {self.theta}; it must be above 1")
        if self.rotary_dim < 2 or self.rotary_dim % 2:
            raise ModelFileInvalid(f"{self.rotary_dim} lanes of a rotary embedding are not pairs")

    @property
    def num_pairs(self) -> int:
        """Entries of a position's row in the tables."""
        return self.rotary_dim // 2

    @property
    def amplitude(self) -> float:
        """The factor of cosines and sines."""
        return 1.0 if self.scaling is None else self.scaling.amplitude

    @property
    def original_context(self) -> int | None:
        """The context of the short factors; None if there are no others."""
        scaling = self.scaling
        if not isinstance(scaling, LongRopeScaling) or scaling.short_factors == scaling.long_factors:
            return None
        return scaling.original_context

    def served_for(self, max_context: int) -> Rope:
        """The embedding of the same model with sequences of at most `max_context` tokens."""
        if isinstance(self.scaling, LongRopeScaling):
            return replace(self, scaling=replace(self.scaling, max_context=max_context))
        return self

    def frequencies(self) -> NDArray[np.float32]:
        """Radians per position, (num_pairs,). Raises ModelFileInvalid when the scaling does not fit."""
        exponents = np.arange(0, self.rotary_dim, 2, dtype=np.float32) / np.float32(self.rotary_dim)
        wavelengths = np.power(self.theta, exponents.astype(np.float64)).astype(np.float32)
        if self.scaling is None:
            return np.float32(1) / wavelengths
        return self.scaling.frequencies(wavelengths, self.theta)


def interleaved_axes(num_pairs: int, sections: Sequence[int]) -> tuple[int, ...]:
    """The axis of each pair: time (0), rows (1) and columns (2) take turns, as in transformers' Qwen3-VL.

    `sections` has the number of pairs of each axis; those of time are the pairs that are left.
    """
    axes = [0] * num_pairs
    for axis in (1, 2):
        for pair in range(axis, min(3 * sections[axis], num_pairs), 3):
            axes[pair] = axis
    return tuple(axes)


def rotary_rows(rope: Rope, first: int, last: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Cosines and sines of positions first..last-1, (positions, num_pairs), times the amplitude.

    A position's row is the same bits whatever rows are computed with it.
    """
    positions = np.arange(first, last, dtype=np.float32)[:, None]
    angles = (positions * rope.frequencies()).astype(np.float64)
    cosines, sines = rope.amplitude * np.cos(angles), rope.amplitude * np.sin(angles)
    return cosines.astype(np.float32), sines.astype(np.float32)


class RotaryTables:
    """Tables of several ropes, filled up to the longest sequence so far.

    `cosines` and `sines` are flat: the row of position p of rope r starts at starts[r] + p * num_pairs of r.
    They keep their place in memory; rows that are not covered yet are zero, and cost address space alone.
    """

    def __init__(self, ropes: Sequence[Rope], max_positions: int) -> None:
        self.max_positions = max_positions
        self.num_covered = 0
        self.ropes = tuple(ropes)
        ends = np.cumsum([0, *(rope.num_pairs * max_positions for rope in ropes)], dtype=np.int64)
        self.starts: NDArray[np.int64] = ends[:-1]
        size = int(ends[-1])
        self.cosines: NDArray[np.float32] = aligned_zeros((size,), np.float32)
        self.sines: NDArray[np.float32] = aligned_zeros((size,), np.float32)

    def cover(self, num_positions: int) -> None:
        """Fill the rows of positions 0..num_positions-1; at most `max_positions`."""
        assert num_positions <= self.max_positions, "no sequence outgrows the context"
        while self.num_covered < num_positions:
            first = self.num_covered
            last = min(round_up(first + 1, ROWS_AT_ONCE), self.max_positions)
            for begin, rope in zip(self.starts, self.ropes, strict=True):
                cosines, sines = rotary_rows(rope, first, last)
                start = begin + first * rope.num_pairs
                self.cosines[start : start + cosines.size] = cosines.ravel()
                self.sines[start : start + sines.size] = sines.ravel()
            self.num_covered = last
