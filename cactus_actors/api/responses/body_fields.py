"""The fields of a body of OpenAI's Responses, and of the items of its input."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Item = dict[str, Any]
"""An item of an input or an output, with its id, as the API shows it."""


class MessageItem(msgspec.Struct, frozen=True):
    """A turn of the conversation."""

    role: Literal["user", "assistant", "system", "developer"]
    content: str | list[dict[str, Any]]
    id: str | None = None


class CallItem(msgspec.Struct, frozen=True):
    """A call of a function, by the model."""

    call_id: str
    name: str
    arguments: str
    id: str | None = None


class CallOutputItem(msgspec.Struct, frozen=True):
    """What the function returned for the call of that id."""

    call_id: str
    output: str | list[dict[str, Any]]
    id: str | None = None


class ReasoningText(msgspec.Struct, frozen=True):
    """A part of reasoning, or of a summary of it."""

    text: str


class ReasoningItem(msgspec.Struct, frozen=True):
    """Reasoning before an answer."""

    summary: list[ReasoningText] | None = None
    content: list[ReasoningText] | None = None
    id: str | None = None


class ItemReference(msgspec.Struct, frozen=True):
    """An item of a stored response."""

    id: str


class FunctionTool(msgspec.Struct, frozen=True):
    """A function that the client runs."""

    name: str
    parameters: dict[str, Any] | None = None
    description: str | None = None
    strict: bool | None = None


class TextFormat(msgspec.Struct, frozen=True):
    """The format of the answer's text; a schema has a name."""

    type: Literal["text", "json_object", "json_schema"] = "text"
    name: str | None = None
    description: str | None = None
    schema: dict[str, Any] | None = None
    strict: bool | None = None


class TextConfig(msgspec.Struct, frozen=True):
    """The answer's text; its verbosity changes nothing."""

    format: TextFormat | None = None
    verbosity: Literal["low", "medium", "high"] | None = None


class ReasoningConfig(msgspec.Struct, frozen=True):
    """The effort of reasoning, and our options on it; there are no summaries."""

    effort: str | None = None
    summary: Literal["auto", "concise", "detailed"] | None = None
    generate_summary: Literal["auto", "concise", "detailed"] | None = None
    enabled: bool | None = None
    max_tokens: int | None = None


class ResponsesBody(msgspec.Struct, frozen=True):
    """The fields of a body that differ from those of a chat; those that do not, such as `stream`, are passed on."""

    input: str | list[dict[str, Any]] | None = None
    instructions: str | None = None
    previous_response_id: str | None = None
    store: bool | None = None
    background: bool | None = None
    include: list[str] | None = None
    max_output_tokens: int | None = None
    max_tool_calls: int | None = None
    metadata: dict[str, str] | None = None
    prompt_cache_key: str | None = None
    reasoning: ReasoningConfig | None = None
    safety_identifier: str | None = None
    text: TextConfig | None = None
    tool_choice: str | dict[str, Any] | None = None
    tools: list[dict[str, Any]] | None = None
    top_logprobs: int | None = None
    truncation: Literal["auto", "disabled"] | None = None
    user: str | None = None
