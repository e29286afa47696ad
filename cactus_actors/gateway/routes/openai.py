"""/v1/completions and /v1/chat/completions."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from litestar import post
from litestar.response.base import ASGIResponse

from cactus_actors.api.field_names import FieldNames
from cactus_actors.api.openai import (
    BodyRequest,
    chunks_of,
    completion_body,
    request_from_chat,
    request_from_completion,
)
from cactus_actors.gateway.answers.job_responses import (
    PreparedJobs,
    check_serves,
    read_jobs,
    streamed_answer,
    whole_answer,
    with_model,
)
from cactus_actors.gateway.context import GatewayContext, gateway_of
from cactus_actors.gateway.http.identity import Identity
from cactus_actors.gateway.http.request_body import HttpRequest
from cactus_actors.protocol.results import Result


@post("/v1/completions", status_code=200)
async def completions(request: HttpRequest) -> ASGIResponse:
    """Complete a prompt, or several."""
    gateway, identity = gateway_of(request), Identity.of(request)
    settings = gateway.settings

    def convert(body: dict[str, Any]) -> tuple[BodyRequest, FieldNames]:
        body = with_model(gateway, body)
        profile, strict = settings.completions_profile, settings.strict
        asked = request_from_completion(body, identity.job_id, profile=profile, strict=strict)
        return asked, asked.field_names

    jobs = await read_jobs(gateway, request, identity, convert)
    return await _answer(gateway, request, identity, jobs, f"cmpl-{identity.request_id}")


@post("/v1/chat/completions", status_code=200)
async def chat_completions(request: HttpRequest) -> ASGIResponse:
    """Answer a conversation."""
    gateway, identity = gateway_of(request), Identity.of(request)
    settings = gateway.settings

    def convert(body: dict[str, Any]) -> tuple[BodyRequest, FieldNames]:
        body = with_model(gateway, body)
        asked = request_from_chat(body, identity.job_id, profile=settings.chat_profile, strict=settings.strict)
        return asked, asked.field_names

    jobs = await read_jobs(gateway, request, identity, convert)
    return await _answer(gateway, request, identity, jobs, f"chatcmpl-{identity.request_id}")


async def _answer(
    gateway: GatewayContext, request: HttpRequest, identity: Identity, jobs: PreparedJobs, completion_id: str
) -> ASGIResponse:
    asked = jobs.asked
    await check_serves(gateway, identity)
    gateway.metrics.note_ignored(asked.ignored)
    created = int(time.time())
    if asked.stream:
        # llama.cpp's chunks of text name no fingerprint
        is_llama_cpp = asked.endpoint == "completion" and asked.submits[0].profile == "llamacpp"
        fingerprint = None if is_llama_cpp else gateway.fingerprint
        chunks = chunks_of(asked, completion_id=completion_id, created=created, system_fingerprint=fingerprint)
        return await streamed_answer(gateway, request, identity, jobs.submits, chunks, names=jobs.names)

    def render(results: Sequence[Result]) -> dict[str, Any]:
        return completion_body(
            asked,
            results,
            completion_id=completion_id,
            created=created,
            system_fingerprint=gateway.fingerprint,
        )

    return await whole_answer(gateway, request, identity, jobs.submits, render, names=jobs.names)


HANDLERS = [completions, chat_completions]
