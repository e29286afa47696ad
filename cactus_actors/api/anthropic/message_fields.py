"""The fields of a body of Anthropic's Messages."""

from __future__ import annotations

from typing import Any, Literal

import msgspec


class TextBlock(msgspec.Struct, frozen=True, tag="text"):
    """Text."""

    text: str


class Base64Source(msgspec.Struct, frozen=True, tag="base64"):
    """A picture in the request."""

    media_type: str
    data: str

    @property
    def address(self) -> str:
        return f"data:{self.media_type};base64,{self.data}"


class UrlSource(msgspec.Struct, frozen=True, tag="url"):
    """A picture elsewhere."""

    url: str

    @property
    def address(self) -> str:
        return self.url


class ImageBlock(msgspec.Struct, frozen=True, tag="image"):
    """A picture."""

    source: Base64Source | UrlSource


class ThinkingBlock(msgspec.Struct, frozen=True, tag="thinking"):
    """Reasoning before an answer."""

    thinking: str


class RedactedBlock(msgspec.Struct, frozen=True, tag="redacted_thinking"):
    """Reasoning that only its author can read."""


class ToolUseBlock(msgspec.Struct, frozen=True, tag="tool_use"):
    """A call of a tool."""

    id: str
    name: str
    input: dict[str, Any]


class ToolResultBlock(msgspec.Struct, frozen=True, tag="tool_result"):
    """What a tool returned for the call of that id."""

    tool_use_id: str
    content: str | list[TextBlock | ImageBlock] = ""
    is_error: bool | None = None


Block = TextBlock | ImageBlock | ThinkingBlock | RedactedBlock | ToolUseBlock | ToolResultBlock


class MessageTurn(msgspec.Struct, frozen=True):
    """A turn of the conversation."""

    role: Literal["user", "assistant", "system"]
    content: str | list[Block]


class ClientTool(msgspec.Struct, frozen=True):
    """A tool that the client runs."""

    name: str
    type: str | None = None
    description: str | None = None
    input_schema: dict[str, Any] | None = None
    strict: bool | None = None


class ToolChoiceObject(msgspec.Struct, frozen=True):
    """Which tools are called: `auto`, `any`, `tool` with a name, or `none`."""

    type: str
    name: str | None = None
    disable_parallel_tool_use: bool | None = None


class MessageMetadata(msgspec.Struct, frozen=True):
    """Who asks."""

    user_id: str | None = None


class SchemaFormat(msgspec.Struct, frozen=True):
    """The JSON schema of the answer."""

    type: Literal["json_schema"]
    schema: dict[str, Any]


class OutputConfig(msgspec.Struct, frozen=True):
    """The effort of reasoning, and the format of the answer."""

    effort: str | None = None
    format: SchemaFormat | None = None


class MessagesBody(msgspec.Struct, frozen=True):
    """The fields of a body that differ from those of a chat; those that do not, such as `stream`, are passed on."""

    messages: list[MessageTurn] | None = None
    system: str | list[TextBlock] | None = None
    tools: list[ClientTool] | None = None
    tool_choice: ToolChoiceObject | None = None
    metadata: MessageMetadata | None = None
    output_config: OutputConfig | None = None
    output_format: SchemaFormat | None = None
    mcp_servers: list[Any] | None = None
