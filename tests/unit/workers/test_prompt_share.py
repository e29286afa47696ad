"""The tokens of prompts beside answers."""

from __future__ import annotations

import pytest

from cactus_actors.workers.engine.prompt_share import tokens_beside_answers


@pytest.mark.parametrize(
    ("num_answers", "num_waiting", "expected"),
    [(8, 0, 24), (16, 128, 48), (8, 64 * 16, 64), (40, 0, 120), (64, 0, 128), (8, 10**6, 128)],
    ids=["few", "for each answer", "many wait", "many answers", "at most", "at most, though many wait"],
)
def test_prompts_have_more_tokens_beside_more_answers_or_where_more_wait(
    num_answers: int, num_waiting: int, expected: int
) -> None:
    assert tokens_beside_answers(num_answers, num_waiting) == expected


@pytest.mark.parametrize("num_answers", range(1, 70))
def test_the_rows_of_a_step_fill_whole_tiles(num_answers: int) -> None:
    num_tokens = tokens_beside_answers(num_answers, 100)
    assert num_tokens > 16
    assert (num_answers + num_tokens) % 8 == 0
