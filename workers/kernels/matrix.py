"""What compiled model code may do with weights, whatever their format.

A format is a module (`float32`, `int8`) with two named tuples of arrays: the matrix, which stacks the weights
of all layers, and the rows that it multiplies. numba picks the implementation by the type of the matrix, so
a step is compiled once for each format, and the model's code is written once for all.

Every element of a product is reduced over the columns of the matrix in one fixed order, whatever the number
of rows, the tile that computes it and the number of threads.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

WIDTH_MULTIPLE = 64
"""Buffers of rows are this much wider than needed at most: whole tiles of every format fit, zeros behind."""


class WeightFormat(Protocol):
    """Makes the arrays of one weight format."""

    @property
    def name(self) -> str: ...

    @property
    def kernels(self) -> str:
        """The instruction set in use, for people."""

    def empty_matrix(self, num_layers: int, num_rows: int, num_columns: int) -> Any:
        """Room for `num_layers` weights of shape (num_rows, num_columns)."""

    def fill(self, matrix: Any, layer: int, weights: NDArray[np.float32]) -> None:
        """Pack one layer's weights, (num_rows, num_columns)."""

    def empty_rows(self, max_rows: int, num_columns: int) -> Any:
        """Room for the rows that a matrix with `num_columns` multiplies."""


def matmul(
    rows: Any, num_rows: int, matrix: Any, layer: int, out: Any, accumulate: bool, rank: int, size: int
) -> None:
    """out[:num_rows] = rows @ matrix[layer].T, or += with `accumulate`: a rank's share of the columns."""
    raise NotImplementedError


def encode_row(matrix: Any, rows: Any, row: int, source: Any, source_row: int) -> None:
    """rows[row] = source[source_row], in the form that `matrix` multiplies."""
    raise NotImplementedError


def decode_weights(matrix: Any, index: int, out: Any, out_row: int) -> None:
    """out[out_row] = matrix[0][index]: the embedding of a token."""
    raise NotImplementedError


def is_a(numba_type: Any, *named_tuples: type) -> bool:
    """Whether a numba type is one of these named tuples."""
    return getattr(numba_type, "instance_class", None) in named_tuples
