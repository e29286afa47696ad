"""/v1/responses of OpenAI's API: answers that are stored, continued, and read again."""

from __future__ import annotations

import dataclasses
import hashlib
import time
from typing import Any, NamedTuple

import msgspec
from litestar import delete, get, post
from litestar.params import FromPath
from litestar.response.base import ASGIResponse

from cactus_actors.api.field_names import FieldNames
from cactus_actors.api.openai import BodyRequest
from cactus_actors.api.responses import (
    ResponseHead,
    ResponseRequest,
    request_from_response,
    response_id_of,
)
from cactus_actors.gateway.answers.job_responses import (
    PreparedJobs,
    check_serves,
    hold_bytes,
    json_response,
    prepared_jobs,
    read_jobs,
    whole_answer,
    with_model,
)
from cactus_actors.gateway.answers.response_answers import ResponseAnswers, current_body, surviving
from cactus_actors.gateway.context import GatewayContext, gateway_of
from cactus_actors.gateway.files.metadata import check_metadata
from cactus_actors.gateway.files.response_store import ResponseRecord, StoredResponse
from cactus_actors.gateway.files.stored_responses import TenantResponses
from cactus_actors.gateway.http.identity import Identity, tenant_name
from cactus_actors.gateway.http.oversized_prompts import check_prompt_fits
from cactus_actors.gateway.http.pagination import page
from cactus_actors.gateway.http.request_body import HttpRequest, read_json
from cactus_actors.protocol.errors import InvalidRequest, JobConflict

RESPONSES = "/v1/responses"
RESPONSE = f"{RESPONSES}/{{response_id:str}}"
_FORM_FIELDS = ("stream", "stream_options")
"""Fields about how the answer is read, not which."""


class _Given(NamedTuple):
    """A body as a request, as its job, and as the digest by which it is known again."""

    request: ResponseRequest
    jobs: PreparedJobs
    digest: bytes


@post(RESPONSES, status_code=200)
async def create_response(request: HttpRequest) -> ASGIResponse:
    """Answer a conversation, and store the answer unless `store` is false."""
    gateway, identity = gateway_of(request), Identity.of(request)
    if identity.positions:
        raise InvalidRequest(
            "events of responses have numbers: continue with GET /v1/responses/{id}?stream=true&starting_after=N",
            param="Last-Event-ID",
        )
    given = await _read(gateway, request, identity)
    if given.request.is_background:
        identity = surviving(identity)
    hold_bytes(request, given.jobs.num_bytes)
    await check_serves(gateway, identity)
    gateway.metrics.note_ignored(given.request.asked.ignored)
    answers = ResponseAnswers(gateway, request, identity, given.jobs.names)
    asked, [job] = given.request.asked, given.jobs.submits
    response_id = response_id_of(identity.request_id)
    head = ResponseHead(response_id=response_id, created_at=int(time.time()), repeated=given.request.repeated)
    if not given.request.is_stored:
        return await (answers.streamed if asked.stream else answers.whole)(head, asked, job)
    record = ResponseRecord(
        created_at=head.created_at,
        taken_at=gateway.responses.now(),
        tenant=tenant_name(request),
        head=head,
        asked=asked,
        items=given.request.items,
        digest=given.digest,
    )
    stored = await gateway.responses.begin(record, job)
    if stored.record.digest != given.digest:
        raise JobConflict(
            "this Idempotency-Key belongs to another request: send that one again, or use another Idempotency-Key",
            param="Idempotency-Key",
        )
    if asked.stream:
        return await answers.streamed_and_stored(stored)
    return await (answers.later if given.request.is_background else answers.whole_and_stored)(stored)


@post(f"{RESPONSES}/input_tokens", status_code=200)
async def count_input_tokens(request: HttpRequest) -> ASGIResponse:
    """The tokens that the prompt of a response has."""
    gateway, identity = gateway_of(request), Identity.of(request)

    def convert(body: dict[str, Any]) -> tuple[BodyRequest, FieldNames]:
        plain = {**body, "stream": False, "background": False}
        asked = _converted(gateway, identity, tenant_name(request), plain).asked
        # The router prepares this task as it prepares an answer, and gives it to no worker.
        submits = [msgspec.structs.replace(submit, task="cloud_question") for submit in asked.submits]
        return msgspec.structs.replace(asked, submits=submits), asked.field_names

    jobs = await read_jobs(gateway, request, identity, convert)
    return await whole_answer(
        gateway,
        request,
        identity,
        jobs.submits,
        lambda results: {"object": "response.input_tokens", "input_tokens": results[0].usage.prompt_tokens},
        names=jobs.names,
    )


@get(RESPONSE)
async def get_response(request: HttpRequest, response_id: FromPath[str]) -> ASGIResponse:
    """A stored response as it is now, or with `stream` its events, those after `starting_after`."""
    gateway = gateway_of(request)
    stored = await _stored(request, response_id)
    starting_after = _number(request, "starting_after")
    if not _flag(request, "stream"):
        return json_response(await current_body(gateway, stored))
    identity = surviving(Identity.of(request))
    return await ResponseAnswers(gateway, request, identity, {}).streamed_and_stored(stored, starting_after)


@post(f"{RESPONSE}/cancel", status_code=200)
async def cancel_response(request: HttpRequest, response_id: FromPath[str]) -> ASGIResponse:
    """End a response that has not ended; it keeps what was answered before."""
    gateway = gateway_of(request)
    stored = await _stored(request, response_id)
    if stored.answer is None:
        await gateway.responses.cancel(stored)
        stored = await _stored(request, response_id)
    return json_response(await current_body(gateway, stored))


@delete(RESPONSE, status_code=200)
async def delete_response(request: HttpRequest, response_id: FromPath[str]) -> ASGIResponse:
    """Forget a response; one that has not ended is cancelled."""
    gateway = gateway_of(request)
    stored = await _stored(request, response_id)
    if stored.answer is None:
        await gateway.responses.cancel(stored)
    await gateway.responses.delete(response_id)
    return json_response({"id": response_id, "object": "response", "deleted": True})


@get(f"{RESPONSE}/input_items")
async def list_input_items(request: HttpRequest, response_id: FromPath[str]) -> ASGIResponse:
    """The items that a response answers, the newest first unless `order` is asc."""
    items = (await _stored(request, response_id)).record.items
    order = request.query_params.get("order", "desc")
    if order not in ("asc", "desc"):
        raise InvalidRequest("order must be asc or desc", param="order")
    return json_response(page(request, items if order == "asc" else items[::-1]))


async def _read(gateway: GatewayContext, request: HttpRequest, identity: Identity) -> _Given:
    tenant = tenant_name(request)

    def convert(body: dict[str, Any]) -> _Given:
        check_prompt_fits({"input": body.get("input")}, gateway.texts.max_context)
        given = _converted(gateway, identity, tenant, body)
        # The router knows the job of a stored response for longer.
        owner = dataclasses.replace(identity, has_key=True) if given.is_stored else identity
        content = {name: value for name, value in body.items() if name not in _FORM_FIELDS}
        digest = hashlib.blake2b(msgspec.json.encode(content, order="deterministic"), digest_size=16).digest()
        jobs = prepared_jobs(given.asked, given.asked.field_names, owner)
        return _Given(msgspec.structs.replace(given, asked=jobs.asked), jobs, digest)

    return await read_json(request, gateway.settings.max_body_bytes, convert)


def _converted(gateway: GatewayContext, identity: Identity, tenant: str, body: dict[str, Any]) -> ResponseRequest:
    settings = gateway.settings
    given = request_from_response(
        with_model(gateway, body),
        identity.job_id,
        response_id_of(identity.request_id),
        TenantResponses(gateway.responses, tenant),
        profile=settings.chat_profile,
        strict=settings.strict,
    )
    check_metadata(given.repeated["metadata"])
    if settings.max_responses == 0 and given.is_background:
        raise InvalidRequest("this service stores no responses, and background needs that", param="background")
    return given if settings.max_responses else msgspec.structs.replace(given, is_stored=False)


async def _stored(request: HttpRequest, response_id: str) -> StoredResponse:
    return await gateway_of(request).responses.get(response_id, tenant_name(request))


def _flag(request: HttpRequest, name: str) -> bool:
    value = request.query_params.get(name, "false").lower()
    if value not in ("true", "false", "1", "0"):
        raise InvalidRequest(f"{name} must be true or false", param=name)
    return value in ("true", "1")


def _number(request: HttpRequest, name: str) -> int:
    """A number of an event; -1 without one."""
    written = request.query_params.get(name)
    if written is None:
        return -1
    if not (written.isascii() and written.isdigit() and len(written) <= 9):
        raise InvalidRequest(f"{name} must be the number of an event", param=name)
    return int(written)


HANDLERS = [
    create_response,
    count_input_tokens,
    get_response,
    cancel_response,
    delete_response,
    list_input_items,
]
