"""What all endpoints that run jobs have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from litestar.response.base import ASGIResponse

from cactus_actors.api.field_names import FieldNames, errors_name_fields_as_given
from cactus_actors.gateway.answers.answer_stream import AnswerStream, ChunkMaker
from cactus_actors.gateway.answers.choices import results_of
from cactus_actors.gateway.answers.disconnects import unless_disconnected
from cactus_actors.gateway.answers.streaming_response import DONE, EventStreamResponse
from cactus_actors.gateway.context import GatewayContext
from cactus_actors.gateway.http.identity import Identity
from cactus_actors.gateway.http.request_body import HttpRequest
from cactus_actors.protocol.errors import ModelNotFound
from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.results import Result

MAX_MODEL_NAME = 128

_encode = msgspec.json.Encoder().encode


def json_response(value: Any, status_code: int = 200) -> ASGIResponse:
    """A value as JSON."""
    return ASGIResponse(body=_encode(value), status_code=status_code)


def model_asked_for(gateway: GatewayContext, name: str | None) -> str:
    """The model that a body names, the served one's name where it names none.

    A service of one model takes any name; raises ModelNotFound for what can be no model's name.
    """
    if name is not None and len(name) > MAX_MODEL_NAME:
        raise ModelNotFound(f"no model {name[:MAX_MODEL_NAME]!r}", param="model")
    return gateway.model if name is None else name


def with_model(gateway: GatewayContext, body: dict[str, Any]) -> dict[str, Any]:
    """A body that names a model; raises ModelNotFound."""
    name = body.get("model")
    if name is not None and not isinstance(name, str):
        return body  # its reader says so
    return body | {"model": model_asked_for(gateway, name)}


async def check_serves(gateway: GatewayContext, identity: Identity) -> None:
    """Raise Unavailable where nobody could answer; who comes back for an answer waits for it instead."""
    if not identity.survives_disconnect:
        await gateway.check_serves()


async def whole_answer(
    gateway: GatewayContext,
    request: HttpRequest,
    identity: Identity,
    submits: Sequence[Submit],
    render: Callable[[Sequence[Result]], Any],
    *,
    names: FieldNames,
) -> ASGIResponse:
    """All results in one body; errors name fields by `names`."""
    owned = [identity.owned(submit) for submit in submits]
    work = results_of(gateway.client, owned)
    with errors_name_fields_as_given(names):
        results = await unless_disconnected(
            gateway, request.receive, work, survives_disconnect=identity.survives_disconnect
        )
    return json_response(render(results))


async def streamed_answer(
    gateway: GatewayContext,
    request: HttpRequest,
    identity: Identity,
    submits: Sequence[Submit],
    chunks: ChunkMaker,
    *,
    names: FieldNames,
    done: bytes = DONE,
) -> ASGIResponse:
    """The answer as it grows; errors name fields by `names`."""
    owned = [identity.owned(submit) for submit in submits]
    if identity.positions:
        gateway.metrics.note_resumed()
    stream = AnswerStream(gateway, identity, owned, chunks, names=names, done=done)
    with errors_name_fields_as_given(names):
        await unless_disconnected(gateway, request.receive, stream.begin())
    return EventStreamResponse(stream.frames())
