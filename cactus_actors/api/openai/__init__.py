"""Converts requests, results and errors from and to OpenAI's formats, for prompt files, the handoff and HTTP.

The values are plain and JSON-ready.
"""

from __future__ import annotations

from cactus_actors.api.openai.body_request import BodyRequest
from cactus_actors.api.openai.cloud_request_body import chat_request_body, cloud_question, question_body
from cactus_actors.api.openai.request_bodies import (
    CHAT_COMPLETIONS,
    COMPLETIONS,
    JobIds,
    request_from_body,
    request_from_chat,
    request_from_completion,
)
from cactus_actors.api.openai.response_bodies import completion_body, error_body
from cactus_actors.api.openai.stream_chunks import ChatChunks, Chunks, TextChunks, chunks_of
from cactus_actors.protocol.results import ToolCall

__all__ = [
    "CHAT_COMPLETIONS",
    "COMPLETIONS",
    "BodyRequest",
    "ChatChunks",
    "Chunks",
    "JobIds",
    "TextChunks",
    "ToolCall",
    "chat_request_body",
    "chunks_of",
    "cloud_question",
    "completion_body",
    "error_body",
    "question_body",
    "request_from_body",
    "request_from_chat",
    "request_from_completion",
]
