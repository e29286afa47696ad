"""Rotary rows of a step whose tokens have positions on several axes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cactus_actors.workers.kernels.aligned_memory import aligned_zeros
from cactus_actors.workers.runtime.step_arguments import RotaryArrays, StepInputs
from cactus_actors.workers.spec.rotary import Rope, RotaryTables


class AxesStep:
    """The arguments of the compiled step in which every token has a rotary row of its own.

    A row has each pair of lanes at the position on the pair's axis. It is copied from the tables, so that it has the
    bits of their row if the positions on all axes are the same.
    """

    def __init__(self, rope: Rope, tables: RotaryTables, step: StepInputs) -> None:
        assert len(tables.ropes) == 1, "all layers of such a model have the same rotary embedding"
        num_tokens = len(step.positions)
        self._tables = tables
        self._axes = np.array(rope.axes, np.intp)
        self._num_pairs = rope.num_pairs
        size = num_tokens * rope.num_pairs
        self.rotary = RotaryArrays(
            aligned_zeros((size,), np.float32),
            aligned_zeros((size,), np.float32),
            np.zeros(1, np.int64),
            np.array([rope.rotary_dim], np.int64),
        )
        self.step = step._replace(rotary_rows=np.arange(num_tokens, dtype=np.int32))

    def take(self, positions: NDArray[np.int32]) -> None:
        """Copy the rows of tokens with these positions, (tokens, axes), which the tables cover."""
        entries = positions[:, self._axes].astype(np.intp) * self._num_pairs + np.arange(self._num_pairs)
        for table, rows in ((self._tables.cosines, self.rotary.cosines), (self._tables.sines, self.rotary.sines)):
            np.take(table, entries, out=rows[: entries.size].reshape(entries.shape))
