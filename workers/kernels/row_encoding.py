# ruff: noqa: ARG001 - numba matches arguments by the names of all parameters, used or not
"""Rows as the tiles of a product read them: those of a tile interleaved group by group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.extending import register_jitable

from cactus_actors.workers.kernels.matrix import BlockLayout

WriteGroup = Callable[[Any, int, int, int, Any, int], None]
"""(rows, start of the tile's group, index in the tile, height of the tile, source, start of `layout.inputs` floats)."""


def make_encode_row(
    layout: BlockLayout, max_height: int, write_group: WriteGroup, least_whole: int = 0
) -> Callable[..., None]:
    """An implementation of `encode_row` whose groups are written by `write_group`, a compiled function.

    `least_whole`, if it is given, is the height of the lowest tile that the rest of the rows is not part of.
    """
    find_tile = _make_find_tile(max_height, least_whole or max_height)
    inputs, row_group_bytes = layout.inputs, layout.row_group_bytes

    def encode_row(
        weights: Any,
        rows: Any,
        rows_start: int,
        num_rows: int,
        row: int,
        num_columns: int,
        source: Any,
        source_start: int,
        first: int,
        last: int,
    ) -> None:
        num_groups = (num_columns + inputs - 1) // inputs
        top, height = find_tile(row, num_rows)
        tile_start = rows_start + top * num_groups * row_group_bytes
        for group in range(first // inputs, min(last // inputs, num_groups)):
            start = tile_start + group * height * row_group_bytes
            write_group(rows, start, row - top, height, source, source_start + group * inputs)

    return encode_row


def _make_find_tile(max_height: int, least_whole: int) -> Callable[[int, int], tuple[int, int]]:
    """(row, number of rows) -> first row and height of its tile.

    As many tiles of the greatest height as fit, at most one of each lower power of two down to `least_whole`, and one
    of the rest of the rows.
    """

    @register_jitable
    def find_tile(row: int, num_rows: int) -> tuple[int, int]:
        first, height = row // max_height * max_height, max_height
        while height > least_whole and first + height > num_rows:
            height //= 2
            if first + height <= num_rows and row >= first + height:
                first += height
        return first, min(height, num_rows - first)

    return find_tile  # type: ignore[no-any-return]  # numba is untyped
