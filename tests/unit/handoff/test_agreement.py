"""Agreement by rule: what counts as the same answer, what as another one, and what only a person can judge."""

from __future__ import annotations

from typing import Any

import pytest

from cactus_actors.handoff.audits.agreement import verdict_of
from cactus_actors.protocol.results import IncompleteCall, ToolCall
from cactus_actors.tools.call_splitter import ParsedText


@pytest.mark.parametrize(
    ("local", "cloud", "verdict"),
    [
        ("Paris", " paris.\n", "right"),
        ("“The  answer is 5%”", "the answer\nis 5%!", "right"),
        ("\uff30aris \ufb01n", "Paris fin", "right"),  # NFKC: full width letters, a ligature
        ("STRASSE", "straße", "right"),
        ("", "...", "unjudged"),
        ("?", "!", "unjudged"),
        ("-5", "5", "unjudged"),
        (".5", "5", "unjudged"),
        ("5%", "5", "unjudged"),
        ("[1]", "1", "unjudged"),
        ("Paris", "The capital is Paris", "unjudged"),
        ("42", "42.0", "right"),
        ("42", "43", "unjudged"),
        ('{"a": 1, "b": [true, null]}', '{"b":[true,null],"a":1.0}', "right"),
        ('{"a": 1}', '{"a": 2}', "wrong"),
        ('{"a": true}', '{"a": 1}', "wrong"),
        ('{"a": "x"}', '{"a": "X"}', "right"),  # equal as texts
        ("[1, 2]", "[2, 1]", "wrong"),
        ('{"a": 1}', "a is 1", "unjudged"),
        ('{"a": 1}', "7", "unjudged"),
        ('{"a": NaN}', '{"a": NaN, "b": 1}', "unjudged"),  # not JSON
        ("[" * 100_000, "[" * 99_999, "unjudged"),
        (f"[{10**400}]", "[1]", "wrong"),
        ("[1e999]", "[1]", "wrong"),
        (f"[{2**60}]", f"[{2**60 + 1}]", "wrong"),
    ],
)
def test_texts(local: str, cloud: str, verdict: str) -> None:
    assert verdict_of(ParsedText(local), ParsedText(cloud)) == verdict
    assert verdict_of(ParsedText(cloud), ParsedText(local)) == verdict


def calling(*calls: tuple[str, dict[str, Any]], text: str = "") -> ParsedText:
    return ParsedText(text, [ToolCall(name, arguments) for name, arguments in calls])


TIMER, LAMP = ("timer", {"minutes": 5, "name": "egg"}), ("lamp", {"on": True})


@pytest.mark.parametrize(
    ("local", "cloud", "verdict"),
    [
        (calling(TIMER), calling(("timer", {"name": "egg", "minutes": 5.0}), text="Certainly!"), "right"),
        (calling(TIMER, LAMP), calling(LAMP, TIMER), "right"),
        (calling(TIMER), calling(TIMER, TIMER), "wrong"),
        (calling(TIMER), calling(("timer", {"minutes": 6, "name": "egg"})), "wrong"),
        (calling(LAMP), calling(("lamp", {"on": 1})), "wrong"),
        (calling(TIMER), calling(("clock", TIMER[1])), "wrong"),
        (calling(TIMER, text="x"), ParsedText("x"), "unjudged"),
        (calling(TIMER), ParsedText("", [ToolCall(*TIMER)], [IncompleteCall(1, "lamp", "{")]), "unjudged"),
    ],
)
def test_tool_calls(local: ParsedText, cloud: ParsedText, verdict: str) -> None:
    assert verdict_of(local, cloud) == verdict
    assert verdict_of(cloud, local) == verdict
