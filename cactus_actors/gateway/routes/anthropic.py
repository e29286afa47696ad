"""/v1/messages of Anthropic's API, and the number of tokens of a message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from litestar import post
from litestar.response.base import ASGIResponse

from cactus_actors.api.anthropic import MESSAGES, MessageEvents, message_body, request_from_message
from cactus_actors.api.field_names import FieldNames
from cactus_actors.api.openai import BodyRequest
from cactus_actors.gateway.answers.job_responses import read_jobs, streamed_answer, whole_answer, with_model
from cactus_actors.gateway.answers.streaming_response import ANTHROPIC_STREAM
from cactus_actors.gateway.context import gateway_of
from cactus_actors.gateway.http.identity import Identity
from cactus_actors.gateway.http.request_body import HttpRequest
from cactus_actors.protocol.results import Result


@post(MESSAGES, status_code=200)
async def messages(request: HttpRequest) -> ASGIResponse:
    """Answer a conversation, in Anthropic's format."""
    gateway, identity = gateway_of(request), Identity.of(request)
    settings = gateway.settings

    def convert(body: dict[str, Any]) -> tuple[BodyRequest, FieldNames]:
        asked = request_from_message(
            with_model(gateway, body), identity.job_id, profile=settings.chat_profile, strict=settings.strict
        )
        return asked, asked.field_names

    jobs = await read_jobs(gateway, request, identity, convert)
    message_id = f"msg_{identity.request_id}"
    if jobs.asked.stream:
        is_cascade = settings.cascade.is_named_by(jobs.asked.model)
        events = MessageEvents(jobs.asked, message_id=message_id, is_cascade=is_cascade)
        return await streamed_answer(
            gateway, request, identity, jobs.submits, events, names=jobs.names, form=ANTHROPIC_STREAM
        )

    def render(results: Sequence[Result]) -> dict[str, Any]:
        return message_body(jobs.asked, results[0], message_id=message_id)

    return await whole_answer(gateway, request, identity, jobs.submits, render, names=jobs.names)


@post(f"{MESSAGES}/count_tokens", status_code=200)
async def count_tokens(request: HttpRequest) -> ASGIResponse:
    """The tokens that a conversation's prompt has."""
    gateway, identity = gateway_of(request), Identity.of(request)
    settings = gateway.settings

    def convert(body: dict[str, Any]) -> tuple[BodyRequest, FieldNames]:
        body = {**with_model(gateway, body), "max_tokens": 1, "stream": False}
        asked = request_from_message(body, identity.job_id, profile=settings.chat_profile, strict=settings.strict)
        # The router prepares this task as it prepares an answer, and gives it to no worker.
        submits = [msgspec.structs.replace(submit, task="cloud_question") for submit in asked.submits]
        return msgspec.structs.replace(asked, submits=submits), asked.field_names

    jobs = await read_jobs(gateway, request, identity, convert)

    def render(results: Sequence[Result]) -> dict[str, Any]:
        return {"input_tokens": results[0].usage.prompt_tokens}

    return await whole_answer(gateway, request, identity, jobs.submits, render, names=jobs.names)


HANDLERS = [messages, count_tokens]
