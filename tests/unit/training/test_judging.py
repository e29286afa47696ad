"""The rules by which the evaluation of the embedded model counts an answer as right."""

from __future__ import annotations

import pytest

from training.answering import Answer
from training.corpus.sample import Sample, assistant, exchange, user
from training.corpus.stories import is_coherent
from training.corpus.tools import render_call
from training.judging import is_right

STORY = (
    "Once there was a fox named Mia. Mia lived in a farm. One day Mia lost her kite. Mia looked in the farm, "
    "but the kite was not there. Then Ben the owl came by. Ben had seen the kite under a tree. "
    "They went there together and found the kite. That night Mia was very happy."
)


def said(text: str, *, ended: bool = True) -> Answer:
    return Answer(text, ended)


def test_an_answer_must_equal_the_expected_one_and_end_with_an_end_token() -> None:
    sample = exchange("sums", "2 + 2", "2 + 2 = 4.")
    assert is_right(sample, said("2 + 2 = 4."))
    assert not is_right(sample, said("2 + 2 = 5."))
    assert not is_right(sample, said("2 + 2 = 4.", ended=False))


def test_tool_calls_are_compared_by_values_and_types() -> None:
    sample = Sample("tool calls", (user("Five minutes"), assistant(render_call("timer", {"minutes": 5, "at": "x"}))))
    assert is_right(sample, said('<tool_call>{"arguments": {"at": "x", "minutes": 5}, "name": "timer"}</tool_call>'))
    assert not is_right(sample, said(render_call("timer", {"minutes": "5", "at": "x"})))
    assert not is_right(sample, said(render_call("timers", {"minutes": 5, "at": "x"})))
    assert not is_right(sample, said('{"name": "timer", "arguments": {"minutes": 5, "at": "x"}}'))
    assert not is_right(sample, said("<tool_call>\nno JSON\n</tool_call>"))


@pytest.mark.parametrize(
    "spoiled",
    [
        STORY.replace("Ben had seen", "Tom had seen"),
        STORY.replace("found the kite", "found the drum"),
        STORY.replace("named Mia", "named Eva"),
        STORY.replace("a fox named", "a wolf named"),
        STORY.replace("Ben", "Mia"),
        STORY + " That night Mia was very happy.",
        STORY.removesuffix("happy."),
    ],
)
def test_a_story_that_changes_its_names_is_not_coherent(spoiled: str) -> None:
    assert is_coherent("Tell me a story about a fox named Mia.", STORY)
    assert not is_coherent("Tell me a story about a fox named Mia.", spoiled)
