"""/v1/completions and /v1/chat/completions, and /v1/fim/completions in their form."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec
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
from cactus_actors.gateway.answers.job_responses import read_jobs, streamed_answer, whole_answer, with_model
from cactus_actors.gateway.context import gateway_of
from cactus_actors.gateway.http.identity import Identity
from cactus_actors.gateway.http.request_body import HttpRequest
from cactus_actors.protocol.results import Result


@post("/v1/completions", status_code=200)
async def completions(request: HttpRequest) -> ASGIResponse:
    """Complete a prompt, or several."""
    profile = gateway_of(request).settings.completions_profile
    return await _answer(request, partial(request_from_completion, profile=profile), "cmpl")


@post("/v1/chat/completions", status_code=200)
async def chat_completions(request: HttpRequest) -> ASGIResponse:
    """Answer a conversation."""
    profile = gateway_of(request).settings.chat_profile
    return await _answer(request, partial(request_from_chat, profile=profile), "chatcmpl")


@post("/v1/fim/completions", status_code=200)
async def fill_in(request: HttpRequest) -> ASGIResponse:
    """Mistral's path: write what is between a prompt and a suffix, or what follows a prompt, as a message."""

    def request_from(*arguments: Any, **options: Any) -> BodyRequest:
        asked = request_from_completion(*arguments, profile="mistral", **options)
        return msgspec.structs.replace(asked, endpoint="chat")

    return await _answer(request, request_from, "cmpl")


async def _answer(request: HttpRequest, request_from: Callable[..., BodyRequest], id_prefix: str) -> ASGIResponse:
    """The response to the request that `request_from` makes of the body."""
    gateway, identity = gateway_of(request), Identity.of(request)

    def convert(body: dict[str, Any]) -> tuple[BodyRequest, FieldNames]:
        asked = request_from(with_model(gateway, body), identity.job_id, strict=gateway.settings.strict)
        return asked, asked.field_names

    jobs = await read_jobs(gateway, request, identity, convert)
    asked, completion_id = jobs.asked, f"{id_prefix}-{identity.request_id}"
    created = int(time.time())
    if asked.stream:
        # llama.cpp's text chunks have no fingerprint
        is_llama_cpp = asked.endpoint == "completion" and asked.submits[0].profile == "llamacpp"
        fingerprint = None if is_llama_cpp else gateway.fingerprint_of(asked.model)
        chunks = chunks_of(
            asked,
            completion_id=completion_id,
            created=created,
            system_fingerprint=fingerprint,
            is_cascade=gateway.settings.cascade.is_named_by(asked.model),
        )
        return await streamed_answer(gateway, request, identity, jobs.submits, chunks, names=jobs.names)

    def render(results: Sequence[Result]) -> dict[str, Any]:
        return completion_body(
            asked,
            results,
            completion_id=completion_id,
            created=created,
            system_fingerprint=gateway.fingerprint_of(results[0].model),
        )

    return await whole_answer(gateway, request, identity, jobs.submits, render, names=jobs.names)


HANDLERS = [completions, chat_completions, fill_in]
