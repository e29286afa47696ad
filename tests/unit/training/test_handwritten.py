"""The hand-written test set: its questions are sound, and judged by their rules."""

from __future__ import annotations

import msgspec
import pytest

from training.answering import Answer
from training.corpus.tools import render_call
from training.handwritten.test_set import HandwrittenQuestion, load_test_set
from training.handwritten.verdict import is_right

QUESTIONS = load_test_set()


def question(**fields: object) -> HandwrittenQuestion:
    return msgspec.convert({"id": "x", "kind": "x", "style": "plain", "question": "?"} | fields, HandwrittenQuestion)


def judged(one: HandwrittenQuestion, text: str) -> bool:
    return is_right(one, Answer(text, ended=True))


def test_there_are_enough_questions_without_repetition() -> None:
    answerable = [one for one in QUESTIONS if one.is_answerable]
    assert len(answerable) >= 500
    assert len(QUESTIONS) - len(answerable) >= 200
    assert len({one.id for one in QUESTIONS}) == len(QUESTIONS)
    assert len({(one.question.lower(), str(one.messages)) for one in QUESTIONS}) == len(QUESTIONS)
    assert all(one.answers or one.call is not msgspec.UNSET for one in answerable)


def test_an_accepted_answer_must_occur_as_whole_words() -> None:
    one = question(answers=["8", "eight"], also=[["Paris"]])
    assert judged(one, "Eight, and Paris.")
    assert not judged(one, "8.")
    assert not judged(one, "18, and Paris.")
    assert not judged(one, "I do not know 8 and Paris.")
    assert not is_right(one, Answer("8 and Paris.", ended=False))


def test_case_lists_lengths_and_forbidden_words_are_checked_if_given() -> None:
    assert judged(question(answers=["Fe"], case=True), "It is Fe.")
    assert not judged(question(answers=["Fe"], case=True), "It is FE.")
    assert not judged(question(answers=["red", "blue", "green"], least=2), "red, red")
    assert judged(question(answers=["red", "blue", "green"], least=2), "red, blue")
    assert not judged(question(answers=["fox"], least_words=4), "A fox ran.")
    assert not judged(question(answers=["5"], **{"not": ["6"]}), "1 2 3 4 5 6")


def test_calls_are_compared_by_name_and_arguments_ignoring_case() -> None:
    one = question(call={"name": "get_weather", "arguments": {"city": "Lisbon"}})
    assert judged(one, render_call("get_weather", {"city": "lisbon"}))
    assert not judged(one, render_call("get_weather", {"city": "Porto"}))
    assert not judged(one, render_call("get_weather", {"city": "Lisbon", "days": 1}))
    assert not judged(one, "Lisbon")
    assert not judged(question(call=None, answers=["4"]), render_call("add", {"a": 4}))
    assert judged(question(call=None, answers=["4"]), "4.")


@pytest.mark.parametrize(
    ("why", "text", "right"),
    [
        ("private", "Sorry, I do not know.", True),
        ("private", "Paris.", False),
        ("private", "That is not Paris.", False),
        ("false premise", "A spider has no wings.", True),
        ("false premise", "Blue.", False),
    ],
)
def test_unanswerable_questions_need_an_admission_or_a_denial(why: str, text: str, right: bool) -> None:
    assert judged(question(why=why), text) is right
