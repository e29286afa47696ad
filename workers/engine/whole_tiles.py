"""Tiles of pictures whose tokens attend to each other, so that one step computes all of them."""

from __future__ import annotations

from collections.abc import Sequence as Ordered

import numpy as np
from numpy.typing import NDArray


class WholeTiles:
    """The spans of a prompt's tiles; all positions are indices into the prompt.

    Raises ValueError unless the placeholders of each tile are adjacent, and those of two tiles are not.
    """

    def __init__(self, places: NDArray[np.intp], counts: Ordered[int]) -> None:
        ends = np.cumsum(counts)
        self._starts = places[ends - counts]
        self._ends = places[ends - 1] + 1
        are_whole = np.array_equal(self._ends - self._starts, counts)
        if not are_whole or (self._starts[1:] <= self._ends[:-1]).any():
            raise ValueError("the placeholders of each tile must be adjacent, with other tokens between tiles")

    @property
    def end(self) -> int:
        """The index after the last tile."""
        return int(self._ends[-1])

    def ends_of(self, positions: NDArray[np.int32]) -> NDArray[np.int32]:
        """The last position that each token attends to: the last one of its tile, or its own."""
        tiles = np.searchsorted(self._starts, positions, side="right") - 1
        tile_ends = np.where(tiles >= 0, self._ends[tiles], 0).astype(np.int32)
        return np.maximum(tile_ends - 1, positions)

    def cut(self, first: int, end: int, end_of_rows: int) -> tuple[int, int]:
        """The ends of a chunk from `first` on: of the tokens that count as computed, and of those that are computed.

        The chunk ends at `end`, or where the last tile begins that would be divided. A chunk that begins with a tile,
        or within one after a cached prefix, has all of the tile, even past `end`. Tokens from `end_of_rows` on, which
        get no logits in this step, do not count as computed.
        """
        stop = min(end, end_of_rows)
        tile = int(np.searchsorted(self._ends, stop, side="right"))
        if tile == len(self._starts) or self._starts[tile] >= stop:
            return stop, stop
        tile_start, tile_end = int(self._starts[tile]), int(self._ends[tile])
        if tile_start > first:
            return tile_start, tile_start
        return min(tile_end, end_of_rows), tile_end
