"""The gated convolution of LFM3-VL over the grid of a tile's patches, with a few taps per channel.

Patches are square after square of `merge` x `merge`, row by row within a square (see `spec/patches.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.kernels.matrix import WIDTH_MULTIPLE
from cactus_actors.workers.kernels.simd import broadcast, fma, load, load_first, store


@internal(error_model="numpy")
def grid_conv(
    values: Any,
    source: int,  # of the first patch
    source_width: int,
    patch: int,
    grid_rows: int,
    grid_columns: int,
    merge: int,
    taps: Any,  # (side * side, padded columns) from `taps_start` on
    taps_start: int,
    side: int,
    num_columns: int,
    target: int,
) -> None:
    """The row of a patch: C * the sum over its neighbours of their taps * B * x.

    A row of the source is B, C and x, `num_columns` each, unpadded between. Places outside of the grid count as zero,
    others are added row by row. `target` ends in zeros up to a multiple of WIDTH_MULTIPLE.
    """
    width = -(-num_columns // WIDTH_MULTIPLE) * WIDTH_MULTIPLE
    for column in range(0, width, 16):
        store(values, target + column, broadcast(np.float32(0)))
    squares_across = grid_columns // merge
    square, place = patch // (merge * merge), patch % (merge * merge)
    first_row = square // squares_across * merge + place // merge - side // 2
    first_column = square % squares_across * merge + place % merge - side // 2
    for tap in range(side * side):
        row, column = first_row + tap // side, first_column + tap % side
        if 0 <= row < grid_rows and 0 <= column < grid_columns:
            square = row // merge * squares_across + column // merge
            neighbour = square * merge * merge + row % merge * merge + column % merge
            start = source + neighbour * source_width
            _add_gated(values, start, num_columns, taps, taps_start + tap * width, target)
    _gate(values, source + patch * source_width + num_columns, num_columns, target)


@internal(error_model="numpy")
def _add_gated(values: Any, start: int, num_columns: int, taps: Any, tap: int, target: int) -> None:
    """Add the taps times B * x of the row at `start`."""
    x_start = start + 2 * num_columns
    whole, rest = num_columns // 16 * 16, num_columns % 16
    for column in range(0, whole, 16):
        gated = load(values, start + column) * load(values, x_start + column)
        store(values, target + column, fma(load(taps, tap + column), gated, load(values, target + column)))
    if rest:
        gated = load_first(values, start + whole, rest) * load_first(values, x_start + whole, rest)
        store(values, target + whole, fma(load(taps, tap + whole), gated, load(values, target + whole)))


@internal(error_model="numpy")
def _gate(values: Any, gates: int, num_columns: int, target: int) -> None:
    whole, rest = num_columns // 16 * 16, num_columns % 16
    for column in range(0, whole, 16):
        store(values, target + column, load(values, gates + column) * load(values, target + column))
    if rest:
        store(values, target + whole, load_first(values, gates + whole, rest) * load(values, target + whole))
