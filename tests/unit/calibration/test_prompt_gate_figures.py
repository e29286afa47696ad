"""The figures of the gate on the prompt: errors by the share that each signal hands off."""

from __future__ import annotations

import numpy as np

from benchmarks.escalation.judged_answers import Answered
from benchmarks.escalation.prompt_gate import LESSONS, fitted, lines, question_sets
from training.answering import Answer

NUM_ANSWERS = 100


def answered(right: list[bool]) -> Answered:
    """A token each: the entropy says nothing, and the state after one layer whether the answer is right."""
    answers = [
        Answer("x", True, [0.5], [-1.0], {1: np.array([is_right, place % 7], "<f4").tobytes()})
        for place, is_right in enumerate(right)
    ]
    return Answered(answers, np.array(right))


def test_handing_off_by_the_prompt_leaves_the_right_answers() -> None:
    own = answered([place % 5 > 0 for place in range(NUM_ANSWERS)])
    table = {line.split()[0]: line.split()[1:] for line in lines(own, None, fitted(own, None))}
    assert list(table) == ["answer_prob", "min_token_prob", "entropy", "prompt"]
    assert (table["entropy"][0], table["prompt"][0]) == ("0.500", "1.000")
    assert table["prompt"][1:10] == ["20.0%", "/", "20.0%", "11.1%", "/", "10.0%", "0.0%", "/", "0.0%"]


def test_errors_of_the_second_model_count_among_those_of_all() -> None:
    own = answered([place % 5 > 0 for place in range(NUM_ANSWERS)])
    second = np.zeros(NUM_ANSWERS, bool)
    probe = fitted(own, answered([True] * NUM_ANSWERS))
    assert probe.has_second
    (*_, line) = lines(own, second, probe)
    assert line.split()[8:11] == ["0.0%", "/", "20.0%"]


def test_no_question_is_both_learnt_from_and_judged_by() -> None:
    sets = {name: {str(one.asked) for one in questions} for name, questions in question_sets(5).items()}
    assert all(sets[LESSONS].isdisjoint(others) for name, others in sets.items() if name != LESSONS)
    assert min(map(len, sets.values())) > 30
