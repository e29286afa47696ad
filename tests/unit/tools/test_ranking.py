"""Tools by relevance."""

from __future__ import annotations

import math
from typing import Any

import pytest

from cactus_actors.tools.tool_ranking import select_tools


def tool(name: str, description: str = "") -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": description}}


TOOLS = [
    tool("get_weather", "Current weather and temperature of a city"),
    tool("set_timer", "Start a countdown of so many minutes"),
    tool("play_song", "Play music by title or artist"),
    tool("send_email", "Send an email message to a contact"),
    tool("convert_currency", "Convert an amount of money between two currencies"),
    tool("book_flight", "Book a plane ticket from one airport to another"),
    tool("create_event", "Add an appointment to the calendar"),
    tool("translate", "Translate a sentence into another language"),
]
LABELLED = [
    ("Which temperature has Oslo now?", "get_weather"),
    ("Wake me in ten minutes", "set_timer"),
    ("Put on some music by Miles Davis", "play_song"),
    ("Write an email to Ann", "send_email"),
    ("How much money is 20 euros, convert them into yen", "convert_currency"),
    ("I need a plane to Rome", "book_flight"),
    ("Add the dentist to my calendar", "create_event"),
    ("Say this sentence in another language: good night", "translate"),
]


def names(tools: list[dict[str, Any]]) -> list[str]:
    return [tool.get("function", tool)["name"] for tool in tools]


@pytest.mark.parametrize(("query", "wanted"), LABELLED)
def test_the_requested_tool_is_first(query: str, wanted: str) -> None:
    assert names(select_tools(query, TOOLS, 1)) == [wanted]


def test_the_given_order_and_named_tools_are_kept() -> None:
    kept = select_tools("Play music, then send an email", TOOLS, 3, always=["translate"])
    assert names(kept) == ["play_song", "send_email", "translate"]
    assert names(select_tools("weather", TOOLS, 1, always=["translate", "book_flight"])) == [
        "book_flight",
        "translate",
    ]


def test_few_tools_or_a_limit_of_zero_select_all() -> None:
    assert select_tools("x", TOOLS, 0) == TOOLS
    assert select_tools("x", TOOLS, len(TOOLS)) == TOOLS
    assert select_tools("x", [], 5) == []


def test_the_score_is_bm25() -> None:
    # "rain" stands in one of three tools, once among 4 words; lengths are 4, 1, 1
    rarity = math.log(1 + 2.5 / 1.5)
    long = rarity * 2.5 / (1 + 1.5 * (0.25 + 0.75 * 4 / 2))
    short = math.log(1 + 2.5 / 1.5) * 2.5 / (1 + 1.5 * (0.25 + 0.75 * 1 / 2))
    assert short > long
    tools = [tool("rain", "falls upon hills"), tool("snow"), tool("sun")]
    assert names(select_tools("rain snow", tools, 1)) == ["snow"]  # equally rare, the shorter one wins
    assert names(select_tools("of it", tools, 1)) == ["rain"]  # no word counts: the first


def test_tools_without_wrapper_or_description_are_ranked() -> None:
    bare = [{"name": "a"}, {"name": "weather", "description": None}, {"function": "broken"}]
    assert select_tools("weather", bare, 1) == [bare[1]]
