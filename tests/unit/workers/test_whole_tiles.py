"""Tiles whose tokens attend to each other are never divided between steps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cactus_actors.workers.engine.whole_tiles import WholeTiles


def tiles_of(*spans: tuple[int, int]) -> WholeTiles:
    places = np.concatenate([np.arange(start, end) for start, end in spans])
    return WholeTiles(places, [end - start for start, end in spans])


def test_tokens_attend_to_the_end_of_their_tile_or_to_themselves() -> None:
    tiles = tiles_of((2, 5), (6, 8))
    assert tiles.ends_of(np.arange(10, dtype=np.int32)).tolist() == [0, 1, 4, 4, 4, 5, 7, 7, 8, 9]
    assert tiles.end == 8


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ((0, 2, 20), (2, 2)),  # before the tile
        ((0, 4, 20), (3, 3)),  # within it: cut at its beginning
        ((3, 4, 20), (7, 7)),  # from its beginning on: all of it
        ((5, 6, 20), (7, 7)),  # after a cached prefix that ends within it
        ((3, 9, 20), (9, 9)),
        ((7, 8, 20), (8, 8)),
        ((3, 4, 5), (5, 7)),  # only two rows of logits: the others are computed again
        ((5, 9, 6), (6, 7)),
        ((0, 9, 5), (3, 3)),
        ((3, 7, 7), (7, 7)),
    ],
)
def test_a_chunk_ends_at_no_place_within_a_tile(limits: tuple[int, int, int], expected: tuple[int, int]) -> None:
    assert tiles_of((3, 7), (10, 12)).cut(*limits) == expected


def test_placeholders_of_a_tile_must_be_adjacent_and_apart_from_others() -> None:
    for places, counts in (([1, 2, 4], [3]), ([1, 2, 3, 4], [2, 2]), ([0, 1, 3, 4, 5], [3, 2])):
        with pytest.raises(ValueError, match="adjacent"):
            WholeTiles(np.array(places), counts)


@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(1, 30)), min_size=1, max_size=4),
    st.integers(0, 40),
    st.lists(st.tuples(st.integers(1, 20), st.integers(1, 20)), min_size=1, max_size=50),
)
def test_every_step_has_the_rest_of_its_tiles(
    shape: list[tuple[int, int]], cached: int, limits: list[tuple[int, int]]
) -> None:
    spans, length = [], 0
    for gap, size in shape:
        spans.append((length + gap, length + gap + size))
        length += gap + size
    tiles = tiles_of(*spans)
    length += 3
    first = min(cached, length - 1)
    for max_tokens, max_rows in limits:
        end, end_in_step = tiles.cut(first, min(first + max_tokens, length), min(first + max_rows, length))
        assert first < end <= end_in_step <= length
        assert not any(start < end_in_step < stop for start, stop in spans)
        assert end == end_in_step or any(start <= first and end < stop == end_in_step for start, stop in spans)
        assert end - first <= max_rows
        first = end
        if first == length:
            break
