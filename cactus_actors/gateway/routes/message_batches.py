"""/v1/messages/batches of Anthropic's API: many messages in one request, run as a prompt file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from itertools import islice
from typing import Any

import msgspec
from litestar import delete, get, post
from litestar.params import FromPath
from litestar.response.base import ASGIResponse

from cactus_actors.api.anthropic import MESSAGES
from cactus_actors.api.conversion import typed
from cactus_actors.batch.prompt_lines import MAX_CUSTOM_ID_LENGTH
from cactus_actors.gateway.answers.job_responses import json_response
from cactus_actors.gateway.answers.streaming_response import ByteStreamResponse
from cactus_actors.gateway.context import gateway_of
from cactus_actors.gateway.files.batch_check import MAX_LINES
from cactus_actors.gateway.files.batch_record import BatchRecord
from cactus_actors.gateway.files.message_batch import message_batch_body, message_batch_results
from cactus_actors.gateway.http.identity import tenant_name
from cactus_actors.gateway.http.pagination import page_between
from cactus_actors.gateway.http.request_body import HttpRequest, read_json
from cactus_actors.protocol.errors import InvalidRequest, PayloadTooLarge

BATCHES = f"{MESSAGES}/batches"
RESULTS_AT_ONCE = 100


class BatchedMessage(msgspec.Struct, frozen=True):
    """One message: `params` are the body of /v1/messages."""

    custom_id: str
    params: dict[str, Any]


class MessageBatchBody(msgspec.Struct, frozen=True):
    """The messages of a batch."""

    requests: list[BatchedMessage]


@post(BATCHES, status_code=200)
async def create_message_batch(request: HttpRequest) -> ASGIResponse:
    """Run many messages in the background."""
    gateway, tenant = gateway_of(request), tenant_name(request)

    def convert(body: dict[str, Any]) -> list[bytes]:
        return _lines_of(typed(body, MessageBatchBody).requests, takes_salts=not tenant)

    lines = await read_json(request, gateway.settings.max_body_bytes, convert)
    file_id = await gateway.files.receive(_each(lines), tenant)
    gateway.files.keep(file_id, "message_batch.jsonl", "batch", tenant)
    try:
        record = gateway.batches.create(MESSAGES, file_id, tenant, None, owned_lines=len(lines))
    except BaseException:
        gateway.files.delete(file_id, tenant)
        raise
    return json_response(_body(request, record))


@get(BATCHES)
async def list_message_batches(request: HttpRequest) -> ASGIResponse:
    """All message batches, newest first."""
    records = gateway_of(request).batches.all_of(tenant_name(request))
    return json_response(page_between(request, [_body(request, record) for record in records if record.owns_files]))


@get(f"{BATCHES}/{{batch_id:str}}")
async def get_message_batch(request: HttpRequest, batch_id: FromPath[str]) -> ASGIResponse:
    """State and counts of a message batch."""
    return json_response(_body(request, gateway_of(request).batches.get_owner(batch_id, tenant_name(request))))


@get(f"{BATCHES}/{{batch_id:str}}/results")
async def get_message_results(request: HttpRequest, batch_id: FromPath[str]) -> ASGIResponse:
    """The results of a message batch that has ended."""
    gateway = gateway_of(request)
    record = gateway.batches.get_owner(batch_id, tenant_name(request))
    if not record.has_ended:
        raise InvalidRequest("the batch has not ended: there are results once its processing_status is ended")
    return ByteStreamResponse(_chunks(message_batch_results(record, gateway.files)), "application/x-jsonl")


@post(f"{BATCHES}/{{batch_id:str}}/cancel", status_code=200)
async def cancel_message_batch(request: HttpRequest, batch_id: FromPath[str]) -> ASGIResponse:
    """Stop a message batch; what was answered is among its results."""
    batches, tenant = gateway_of(request).batches, tenant_name(request)
    batches.get_owner(batch_id, tenant)
    return json_response(_body(request, batches.cancel(batch_id, tenant)))


@delete(f"{BATCHES}/{{batch_id:str}}", status_code=200)
async def delete_message_batch(request: HttpRequest, batch_id: FromPath[str]) -> ASGIResponse:
    """Remove a message batch that has ended, and its results."""
    gateway_of(request).batches.delete(batch_id, tenant_name(request))
    return json_response({"id": batch_id, "type": "message_batch_deleted"})


def _lines_of(messages: list[BatchedMessage], *, takes_salts: bool) -> list[bytes]:
    """The lines of a prompt file; raises InvalidRequest and PayloadTooLarge. Each body is checked when it runs."""
    if not messages:
        raise InvalidRequest("requests must not be empty", param="requests")
    if len(messages) > MAX_LINES:
        raise PayloadTooLarge(f"a batch has at most {MAX_LINES} requests, not {len(messages)}", param="requests")
    places: dict[str, int] = {}
    lines = []
    for place, message in enumerate(messages):
        name = f"requests[{place}].custom_id"
        custom_id = message.custom_id
        if not 1 <= len(custom_id) <= MAX_CUSTOM_ID_LENGTH or not custom_id.isprintable():
            raise InvalidRequest(f"{name} must be 1 to {MAX_CUSTOM_ID_LENGTH} printable characters", param=name)
        if (first := places.setdefault(custom_id, place)) != place:
            raise InvalidRequest(f"{name} is that of requests[{first}] too: {custom_id[:60]!r}", param=name)
        if not takes_salts and message.params.get("cache_salt") is not None:
            field = f"requests[{place}].params.cache_salt"
            raise InvalidRequest("cache_salt is not allowed in a batch", param=field)
        line = {"custom_id": custom_id, "method": "POST", "url": MESSAGES, "body": message.params}
        lines.append(msgspec.json.encode(line) + b"\n")
    return lines


def _body(request: HttpRequest, record: BatchRecord) -> dict[str, Any]:
    return message_batch_body(record, f"{_own_address(request)}{BATCHES}/{record.batch_id}/results")


def _own_address(request: HttpRequest) -> str:
    """The address by which the caller reached the service, also through a proxy that ends TLS."""
    is_secure = request.url.scheme == "https" or request.headers.get("x-forwarded-proto") == "https"
    return f"{'https' if is_secure else 'http'}://{request.headers.get('host', '')}"


async def _each(lines: list[bytes]) -> AsyncIterator[bytes]:
    for line in lines:
        yield line


async def _chunks(lines: Iterator[bytes]) -> AsyncIterator[bytes]:
    while chunk := await asyncio.to_thread(lambda: b"".join(islice(lines, RESULTS_AT_ONCE))):
        yield chunk


HANDLERS = [
    create_message_batch,
    list_message_batches,
    get_message_batch,
    get_message_results,
    cancel_message_batch,
    delete_message_batch,
]
