"""The bodies of batch lines, in the format of the API that a line's url names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cactus_actors.api.anthropic import MESSAGES, anthropic_error_body, message_body, request_from_message
from cactus_actors.api.openai import (
    CHAT_COMPLETIONS,
    COMPLETIONS,
    BodyRequest,
    JobIds,
    completion_body,
    error_body,
    request_from_body,
)
from cactus_actors.protocol.error_info import ErrorInfo
from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.results import Result

_URLS = (CHAT_COMPLETIONS, COMPLETIONS, MESSAGES)


def request_of(url: str, body: Any, job_id_of: JobIds, defaults: Options, system: str | None) -> BodyRequest:
    """The jobs of a body; `system` is for conversations without a system message. Raises InvalidRequest."""
    if url not in _URLS:
        raise InvalidRequest(f"url must be {', '.join(_URLS[:-1])} or {_URLS[-1]}, got {url[:100]!r}", param="url")
    if not isinstance(body, dict):
        raise InvalidRequest(f"the body must be a JSON object, not {type(body).__name__}", param="body")
    if body.get("stream"):
        raise InvalidRequest("stream has no meaning in a prompt file", param="stream")
    if url == MESSAGES:
        given = body if system is None or body.get("system") else {**body, "system": system}
        return request_from_message(given, job_id_of, defaults=defaults)
    if "messages" in body:
        body = {**body, "messages": with_system(body["messages"], system)}
    return request_from_body(url, body, job_id_of, defaults=defaults)


def with_system(messages: Any, system: str | None) -> Any:
    """The messages of a chat, preceded by `system` if they have no system message."""
    if system is None or not isinstance(messages, list):
        return messages
    roles = {message.get("role") for message in messages if isinstance(message, dict)}
    if not roles.isdisjoint(("system", "developer")):
        return messages
    return [{"role": "system", "content": system}, *messages]


def answer_body(
    url: str | None, request: BodyRequest, results: Sequence[Result], *, created: int, system_fingerprint: str | None
) -> dict[str, Any]:
    """The body that answers a line; one without a url is a chat if it has messages, else a text completion."""
    name = request.submits[0].job_id[:24]
    if url == MESSAGES:
        return message_body(request, results[0], message_id=f"msg_{name}")
    prefix = "chatcmpl" if request.endpoint == "chat" else "cmpl"
    return completion_body(
        request, results, completion_id=f"{prefix}-{name}", created=created, system_fingerprint=system_fingerprint
    )


def failure_body(url: str | None, info: ErrorInfo, job_id: str) -> dict[str, Any]:
    """The body for a failed line."""
    return anthropic_error_body(info, job_id) if url == MESSAGES else error_body(info, request_id=job_id)
