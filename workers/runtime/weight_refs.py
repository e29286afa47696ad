"""References to the weights of a graph, by the names of their tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class MatrixRef:
    """Weights stacked in one matrix, (num_rows, num_columns) in all."""

    names: tuple[str, ...]
    heights: tuple[int, ...]  # rows of each
    num_columns: int
    is_head: bool  # embedding, output, routers: they may have a finer format

    @property
    def num_rows(self) -> int:
        """Outputs of the product."""
        return sum(self.heights)

    @property
    def row_shape(self) -> tuple[int, ...]:
        """The shape of a row in the model's files."""
        return (self.num_columns,)

    def stored_shape(self, height: int) -> tuple[int, ...]:
        """The shape in the model's files of a part with `height` rows."""
        return (height, *self.row_shape)


@dataclass(frozen=True)
class TransposedRef(MatrixRef):
    """A matrix that the model's files have as (inputs, outputs)."""

    def stored_shape(self, height: int) -> tuple[int, ...]:
        """The shape in the model's files."""
        return (self.num_columns, height)


@dataclass(frozen=True)
class GatedQueriesRef(MatrixRef):
    """Queries, keys and values; the first tensor has a query and a gate for each of `num_heads` heads.

    The matrix has the queries of all heads first, and their gates after the values.
    """

    num_heads: int


@dataclass(frozen=True)
class KernelRef(MatrixRef):
    """The kernel of a convolution whose stride is its size: a matrix that multiplies patches."""

    kernel_shape: tuple[int, ...]  # (channels, height, width), perhaps more

    @property
    def row_shape(self) -> tuple[int, ...]:
        """The shape of a row in the model's files."""
        return self.kernel_shape


@dataclass(frozen=True)
class VectorRef:
    """Float32 tensors in one row, each value plus `offset`; taps are (channels, taps) and stored by tap."""

    names: tuple[str, ...]
    lengths: tuple[int, ...]
    offset: float = 0.0
    num_taps: int = 0

    @property
    def row_shape(self) -> tuple[int, ...]:
        """The shape of an entry in the model's files: none, or its taps."""
        return (self.num_taps,) if self.num_taps else ()


@dataclass(frozen=True)
class GridTapsRef(VectorRef):
    """The taps of a convolution over a grid, (channels, 1, side, side), stored by tap; `num_taps` is side squared."""

    side: int = 0

    @property
    def row_shape(self) -> tuple[int, ...]:
        """The shape of the taps of a channel in the model's files."""
        return (1, self.side, self.side)


@dataclass(frozen=True)
class BoundsRef(VectorRef):
    """Numbers that may be infinite in the model's files; the largest finite ones are stored for these."""


@dataclass(frozen=True)
class TableRef(VectorRef):
    """A float32 table, read outside of compiled code; `stored_row` is the shape of a row in the model's files."""

    stored_row: tuple[int, ...] = ()

    @property
    def width(self) -> int:
        """Floats of a row."""
        return math.prod(self.stored_row)

    @property
    def row_shape(self) -> tuple[int, ...]:
        """The shape of a row."""
        return self.stored_row


def biases_of(names: Sequence[str], width: int) -> VectorRef:
    """The biases of projections of equal width, one after the other."""
    return VectorRef(tuple(f"{name}.bias" for name in names), (width,) * len(names))
