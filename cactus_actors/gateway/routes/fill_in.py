"""/v1/fim/completions: Mistral's path for filling in between a prompt and a suffix, answered as a message."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import msgspec
from litestar import post
from litestar.response.base import ASGIResponse

from cactus_actors.api.field_names import FieldNames
from cactus_actors.api.openai import BodyRequest, chunks_of, completion_body, request_from_completion
from cactus_actors.gateway.answers.job_responses import read_jobs, streamed_answer, whole_answer, with_model
from cactus_actors.gateway.context import gateway_of
from cactus_actors.gateway.http.identity import Identity
from cactus_actors.gateway.http.request_body import HttpRequest
from cactus_actors.protocol.results import Result


@post("/v1/fim/completions", status_code=200)
async def fill_in(request: HttpRequest) -> ASGIResponse:
    """Write what is between a prompt and a suffix; without a suffix, what follows."""
    gateway, identity = gateway_of(request), Identity.of(request)

    def convert(body: dict[str, Any]) -> tuple[BodyRequest, FieldNames]:
        asked = request_from_completion(
            with_model(gateway, body), identity.job_id, profile="mistral", strict=gateway.settings.strict
        )
        return msgspec.structs.replace(asked, endpoint="chat"), asked.field_names

    jobs = await read_jobs(gateway, request, identity, convert)
    written: dict[str, Any] = {"completion_id": f"cmpl-{identity.request_id}", "created": int(time.time())}
    if jobs.asked.stream:
        fingerprint = gateway.fingerprint_of(jobs.asked.model)
        is_cascade = gateway.settings.cascade.is_named_by(jobs.asked.model)
        chunks = chunks_of(jobs.asked, **written, system_fingerprint=fingerprint, is_cascade=is_cascade)
        return await streamed_answer(gateway, request, identity, jobs.submits, chunks, names=jobs.names)

    def render(results: Sequence[Result]) -> dict[str, Any]:
        fingerprint = gateway.fingerprint_of(results[0].model)
        return completion_body(jobs.asked, results, **written, system_fingerprint=fingerprint)

    return await whole_answer(gateway, request, identity, jobs.submits, render, names=jobs.names)


HANDLERS = [fill_in]
