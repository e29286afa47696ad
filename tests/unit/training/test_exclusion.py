"""No training sample asks a question of the hand-written test set."""

from __future__ import annotations

from itertools import islice
from random import Random

import pytest

from training.corpus.curriculum import (
    TEST_SET,
    long_training_samples,
    sample_of,
    shares,
    training_samples,
)
from training.corpus.sample import assistant, user
from training.corpus.wording.grammar import normalised
from training.corpus.wording.reserved import RESERVED
from training.handwritten.exclusion import Exclusion
from training.handwritten.test_set import load_test_set

ONE = Exclusion(["What is the capital of Peru?", "Hello!", "What is 7 plus 58, please?"])


@pytest.mark.parametrize(
    "text",
    [
        "What is the capital of Peru?",
        "what is the capital of peru",
        "WHAT IS THE  CAPITAL OF-PERU?!",
        "What is teh capital of Peru?",
        "What is the capitl of Peru?",
        "What is the capiital of Peru?",
        "What is the capitol of Peru?",
        "Hello, what is the capital of Peru? Thank you!",
        "The capital of Peru is what?",
        "Peru is far away. What is the capital of Peru?",
        "What is the capital of Peru?\nAnd of Chile?",
        "hello",
        "what is 7 plus 58",
    ],
)
def test_a_question_and_its_nearest_wordings_are_excluded(text: str) -> None:
    assert ONE.is_near(text)
    assert ONE.excludes([{"role": "system", "content": "x"}, user(text), assistant("Lima.")])


@pytest.mark.parametrize(
    "text",
    [
        "Name the capital of Peru.",
        "What is the capital of Chile?",
        "Which country has Peru's capital?",
        "hallo",
        "Hello there, who are you?",
        "What is 7 plus 59, please?",
        "What is 8 plus 58, please?",
        "",
    ],
)
def test_another_wording_or_subject_is_not_excluded(text: str) -> None:
    assert not ONE.is_near(text)
    assert not ONE.excludes([user("Hi?"), assistant("What is the capital of Peru?"), user(text)])


def test_every_question_of_the_test_set_is_excluded() -> None:
    assert [one.id for one in load_test_set() if not TEST_SET.is_near(one.question)] == []


def test_no_sample_asks_a_question_of_the_test_set() -> None:
    for samples in (training_samples(5, 0, 0.5), long_training_samples(5, 0, 1.0)):
        asked = [str(m["content"]) for each in islice(samples, 400) for m in each.messages if m["role"] == "user"]
        assert len(asked) >= 400
        assert [text for text in asked if TEST_SET.is_near(text) or normalised(text) in RESERVED] == []


@pytest.mark.parametrize("kind", shares(0.0))
def test_a_sample_that_asks_an_excluded_question_is_drawn_again(kind: str) -> None:
    first = sample_of(kind, Random(3), 0.5, Exclusion([]))
    asked = [str(message["content"]) for message in first.messages if message["role"] == "user"]
    assert sample_of(kind, Random(3), 0.5, Exclusion(asked)) != first


def test_a_kind_that_asks_nothing_else_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Exclusion, "excludes", lambda _self, _messages: True)
    with pytest.raises(RuntimeError, match="sums: 1000 samples in a row"):
        sample_of("sums", Random(1), 0.5)
