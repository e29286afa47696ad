"""/v1/requests/{id}: reads the results of a request again, or cancels it."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec
from litestar import delete, get
from litestar.params import FromPath
from litestar.response.base import ASGIResponse

from cactus_actors.gateway.answers.job_responses import json_response
from cactus_actors.gateway.context import gateway_of
from cactus_actors.gateway.http.identity import identity_named
from cactus_actors.gateway.http.request_body import HttpRequest
from cactus_actors.gateway.http.request_ids import job_id_of
from cactus_actors.protocol.errors import JobNotFound
from cactus_actors.protocol.messages import Finished

T = TypeVar("T")


@get("/v1/requests/{request_id:str}")
async def get_request(request: HttpRequest, request_id: FromPath[str]) -> ASGIResponse:
    """State of a request, and the whole result of every choice that has ended."""
    gateway = gateway_of(request)
    name = identity_named(request, request_id)
    choices: list[dict[str, Any]] = []
    for index, found in enumerate(await _of_all_jobs(name, gateway.client.retrieve)):
        if isinstance(found, Finished):
            choices.append({"index": index, "state": "ended", "result": msgspec.to_builtins(found.result)})
        else:
            choices.append({"index": index, "state": found.state, "length": found.length})
    state = "ended" if all(choice["state"] == "ended" for choice in choices) else "running"
    return json_response({"id": name, "object": "request", "state": state, "choices": choices})


@delete("/v1/requests/{request_id:str}", status_code=200)
async def cancel_request(request: HttpRequest, request_id: FromPath[str]) -> ASGIResponse:
    """Cancel every job of a request; ended jobs do not change."""
    gateway = gateway_of(request)
    name = identity_named(request, request_id)
    states = await _of_all_jobs(name, gateway.client.cancel)
    return json_response({"id": name, "object": "request", "states": states})


async def _of_all_jobs(request_id: str, ask: Callable[[str], Awaitable[T]]) -> list[T]:
    """The reply to `ask` for each job of a request; raises JobNotFound for a request without any."""
    replies: list[T] = []
    for choice in itertools.count():
        try:
            replies.append(await ask(job_id_of(request_id, choice)))
        except JobNotFound:
            break
    if not replies:
        raise JobNotFound(f"no request {request_id!r} is known")
    return replies


HANDLERS = [get_request, cancel_request]
