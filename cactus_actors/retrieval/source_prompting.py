"""Puts retrieved chunks into a conversation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cactus_actors.protocol.results import Source

NUM_SOURCES = 5
"""Sources in a prompt unless `tool_rag_top_k` says otherwise."""

_INTRODUCTION = "Use these documents where they help to answer:"


def with_sources(messages: Sequence[Mapping[str, Any]], sources: Sequence[Source]) -> list[dict[str, Any]]:
    """The conversation with the sources in its system message, which is added if there is none."""
    turns = [dict(message) for message in messages]
    if not sources:
        return turns
    documents = "\n\n".join(f"[{source.source}]\n{source.content}" for source in sources)
    text = f"{_INTRODUCTION}\n\n{documents}"
    if turns and turns[0].get("role") == "system" and isinstance(turns[0].get("content"), str):
        turns[0]["content"] = f"{turns[0]['content']}\n\n{text}"
        return turns
    return [{"role": "system", "content": text}, *turns]


def fitting(sources: Sequence[Source], max_tokens: int, num_tokens: Callable[[str], int]) -> list[Source]:
    """The first of the sources that together have at most `max_tokens` tokens."""
    kept, total = [], 0
    for source in sources:
        total += num_tokens(f"[{source.source}]\n{source.content}\n\n")
        if total > max_tokens:
            break
        kept.append(source)
    return kept


def question_of(messages: Sequence[Mapping[str, Any]]) -> str:
    """The text of the last user message; empty if there is none."""
    for message in reversed(messages):
        if message.get("role") == "user":
            content = message.get("content")
            if isinstance(content, str):
                return content
            parts = content if isinstance(content, list) else []
            return "\n".join(str(part.get("text") or "") for part in parts if isinstance(part, Mapping))
    return ""
