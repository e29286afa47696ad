"""OpenAI's shapes of our requests, results and errors, shared by prompt files, the handoff and HTTP.

One internal request and one result; these are their renderings, as plain JSON-ready values.
"""

from __future__ import annotations

from cactus_actors.protocol.openai.bodies_in import (
    CHAT_COMPLETIONS,
    COMPLETIONS,
    submit_from_body,
    submit_from_chat,
    submit_from_completion,
)
from cactus_actors.protocol.openai.bodies_out import chat_completion_body, error_body, text_completion_body
from cactus_actors.protocol.openai.outgoing import chat_request_body, cloud_request_from_submit
from cactus_actors.protocol.openai.tool_calls import render_tool_calls, split_tool_calls
from cactus_actors.protocol.results import ToolCall

__all__ = [
    "CHAT_COMPLETIONS",
    "COMPLETIONS",
    "ToolCall",
    "chat_completion_body",
    "chat_request_body",
    "cloud_request_from_submit",
    "error_body",
    "render_tool_calls",
    "split_tool_calls",
    "submit_from_body",
    "submit_from_chat",
    "submit_from_completion",
    "text_completion_body",
]
