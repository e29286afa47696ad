"""Sources in the messages of a conversation."""

from __future__ import annotations

from typing import Any

import pytest

from cactus_actors.protocol.results import Source
from cactus_actors.retrieval import fitting, question_of, with_sources

SOURCES = [
    Source(source="a.md", content="Alpha.", score=2.0),
    Source(source="b.md", content="Beta.", score=1.0),
]
USER = {"role": "user", "content": "What?"}


def test_sources_follow_the_system_message() -> None:
    messages = [{"role": "system", "content": "Be brief."}, USER]
    [system, user] = with_sources(messages, SOURCES)
    assert system["content"].startswith("Be brief.\n\n")
    assert system["content"].endswith("[a.md]\nAlpha.\n\n[b.md]\nBeta.")
    assert user == USER
    assert messages[0]["content"] == "Be brief."


def test_a_system_message_is_added_where_there_is_none() -> None:
    [system, user] = with_sources([USER], SOURCES[:1])
    assert system["role"] == "system"
    assert "Alpha." in system["content"]
    assert user == USER


def test_without_sources_the_conversation_is_unchanged() -> None:
    assert with_sources([USER], []) == [USER]


@pytest.mark.parametrize(("limit", "kept"), [(1000, 2), (20, 1), (3, 0)])
def test_sources_are_limited_to_their_token_budget(limit: int, kept: int) -> None:
    assert fitting(SOURCES, limit, len) == SOURCES[:kept]


@pytest.mark.parametrize(
    ("messages", "question"),
    [
        ([USER, {"role": "assistant", "content": "That."}], "What?"),
        ([USER, {"role": "user", "content": [{"type": "text", "text": "And"}, {"type": "text"}]}], "And\n"),
        ([{"role": "system", "content": "Be brief."}], ""),
        ([{"role": "user", "content": None}], ""),
    ],
)
def test_the_question_is_the_last_user_message(messages: list[dict[str, Any]], question: str) -> None:
    assert question_of(messages) == question
