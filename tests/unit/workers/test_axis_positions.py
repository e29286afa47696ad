"""Positions of tokens on three axes: those of text are the same on all, those of a picture are its rows and columns."""

from __future__ import annotations

import numpy as np
import pytest

from cactus_actors.workers.engine.axis_positions import AxisPositions, text_positions
from cactus_actors.workers.engine.sequence_pictures import SequencePictures
from cactus_actors.workers.spec.rotary import interleaved_axes
from tests.support.models.random_pictures import random_picture

IMAGE = 9
WIDE, TALL = (24, 16, 6), (8, 32, 4)
"""Three columns of two rows, and one column of four rows, with tokens of 8 x 8 pixels."""


def test_text_goes_on_after_the_larger_side_of_a_picture() -> None:
    positions = AxisPositions([(2, 2, 3), (9, 4, 1)]).within(0, 15)
    assert positions.tolist() == [
        *([0, 0, 0], [1, 1, 1]),
        *([2, 2, 2], [2, 2, 3], [2, 2, 4], [2, 3, 2], [2, 3, 3], [2, 3, 4]),
        [5, 5, 5],
        *([6, 6, 6], [6, 7, 6], [6, 8, 6], [6, 9, 6]),
        *([10, 10, 10], [11, 11, 11]),
    ]


def test_any_chunk_has_the_positions_of_the_whole() -> None:
    axes = AxisPositions([(0, 2, 2), (4, 1, 3)])
    whole = axes.within(0, 12)
    for start in range(12):
        for end in range(start + 1, 13):
            assert np.array_equal(axes.within(start, end), whole[start:end])


def test_text_positions_are_indices() -> None:
    assert text_positions(3, 5).tolist() == [[3, 3, 3], [4, 4, 4]]


def test_a_sequence_has_the_grids_of_its_tiles() -> None:
    pictures = [random_picture([WIDE], 1), random_picture([TALL], 2)]
    prompt = [1, *[IMAGE] * 6, 2, *[IMAGE] * 4, 3]
    assert SequencePictures(pictures, prompt, IMAGE, "").axes is None
    axes = SequencePictures(pictures, prompt, IMAGE, "", token_side=8).axes
    assert axes is not None
    assert axes.within(0, 14).tolist() == AxisPositions([(1, 2, 3), (8, 4, 1)]).within(0, 14).tolist()


def test_the_placeholders_of_a_tile_must_be_side_by_side() -> None:
    prompt = [IMAGE, IMAGE, 5, *[IMAGE] * 4]
    SequencePictures([random_picture([WIDE], 1)], prompt, IMAGE, "")
    with pytest.raises(ValueError, match="side by side"):
        SequencePictures([random_picture([WIDE], 1)], prompt, IMAGE, "", token_side=8)


@pytest.mark.parametrize(
    ("num_pairs", "sections", "expected"),
    [
        (8, (4, 2, 2), (0, 1, 2, 0, 1, 2, 0, 0)),
        (8, (2, 4, 1), (0, 1, 2, 0, 1, 0, 0, 1)),
        (3, (24, 20, 20), (0, 1, 2)),
        (4, (4, 0, 0), (0, 0, 0, 0)),
    ],
)
def test_axes_of_pairs_take_turns(num_pairs: int, sections: tuple[int, ...], expected: tuple[int, ...]) -> None:
    assert interleaved_axes(num_pairs, sections) == expected
