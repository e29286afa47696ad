"""Responses of all endpoints that run jobs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
from litestar.response.base import ASGIResponse
from msgspec import UNSET

from cactus_actors.api.field_names import FieldNames, errors_name_fields_as_given
from cactus_actors.api.openai import BodyRequest
from cactus_actors.client.submit import EncodedSubmit, encoded
from cactus_actors.gateway.answers.answer_stream import AnswerStream, ChunkMaker, FailureEvents
from cactus_actors.gateway.answers.choices import results_of
from cactus_actors.gateway.answers.disconnects import unless_disconnected
from cactus_actors.gateway.answers.streaming_response import OPENAI_STREAM, EventStreamResponse, StreamFormat
from cactus_actors.gateway.context import GatewayContext
from cactus_actors.gateway.http.caller_shares import Share
from cactus_actors.gateway.http.error_formats import ErrorFormat
from cactus_actors.gateway.http.error_responses import info_of
from cactus_actors.gateway.http.identity import Identity
from cactus_actors.gateway.http.oversized_prompts import check_prompt_fits
from cactus_actors.gateway.http.request_body import HttpRequest, read_json
from cactus_actors.gateway.served_texts import MAX_MODEL_NAME
from cactus_actors.protocol.errors import CactusError, ModelNotFound
from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.results import Result

OBJECT_FACTOR, INTEGER_BYTES = 4, 36
"""Memory of decoded objects in addition to their encoding, and of an integer in a list."""

_encode = msgspec.json.Encoder().encode


def json_response(value: Any) -> ASGIResponse:
    """A value as JSON."""
    return ASGIResponse(body=_encode(value))


def requested_model(gateway: GatewayContext, name: str | None) -> str:
    """The model that a body names, by default the first one.

    A service of one model accepts any name; raises ModelNotFound for an impossible one. The router refuses a name that
    a service of several does not have.
    """
    if name is not None and len(name) > MAX_MODEL_NAME:
        raise ModelNotFound(f"no model {name[:MAX_MODEL_NAME]!r}", param="model")
    return gateway.model if name is None else name


def with_model(gateway: GatewayContext, body: dict[str, Any]) -> dict[str, Any]:
    """A body that names a model; raises ModelNotFound."""
    name = body.get("model")
    if name is not None and not isinstance(name, str):
        return body  # its reader says so
    return body | {"model": requested_model(gateway, name)}


async def check_serves(gateway: GatewayContext, identity: Identity) -> None:
    """Raise Unavailable if no worker could answer; a request that survives a disconnect waits instead."""
    if not identity.survives_disconnect:
        await gateway.check_serves()


ConvertBody = Callable[[dict[str, Any]], tuple[BodyRequest, FieldNames]]
"""The request of a body, and the names of its fields in the body."""


@dataclass(frozen=True, slots=True)
class PreparedJobs:
    """The jobs of a request, ready to be sent, and the request without the fields that only they need."""

    asked: BodyRequest
    submits: Sequence[EncodedSubmit]
    names: FieldNames

    @property
    def num_bytes(self) -> int:
        """Approximate memory of the jobs while they run."""
        return sum(submit.num_bytes for submit in self.submits) + _kept_bytes(self.asked.submits[0])


def prepared_jobs(asked: BodyRequest, names: FieldNames, identity: Identity) -> PreparedJobs:
    """Raises InvalidRequest for values that cannot be sent; errors name fields by `names`."""
    with errors_name_fields_as_given(names):
        submits = [encoded(identity.owned(submit)) for submit in asked.submits]
    kept = [msgspec.structs.replace(submit, messages=None) for submit in asked.submits]
    return PreparedJobs(msgspec.structs.replace(asked, submits=kept), submits, names)


async def read_jobs(
    gateway: GatewayContext, request: HttpRequest, identity: Identity, convert: ConvertBody
) -> PreparedJobs:
    """The jobs that `convert` makes of the body; while they run, their memory counts against the limit for bodies.

    Raises Unavailable if no worker could answer.
    """

    def prepare(body: dict[str, Any]) -> PreparedJobs:
        check_prompt_fits(body, gateway.texts.max_context)
        asked, names = convert(body)
        return prepared_jobs(asked, names, identity)

    jobs = await read_json(request, gateway.settings.max_body_bytes, prepare)
    hold_bytes(request, jobs.num_bytes)
    await check_serves(gateway, identity)
    gateway.metrics.note_ignored(jobs.asked.ignored)
    return jobs


def hold_bytes(request: HttpRequest, num_bytes: int) -> None:
    """Count the memory of a request's jobs instead of its body; raises Overloaded without room for it."""
    held_bytes: Share = request.scope["state"]["held_bytes"]
    held_bytes.set(num_bytes)


def _kept_bytes(submit: Submit) -> int:
    """Memory for writing the answer of a job, apart from its text: token ids, which all choices share, and tools."""
    num_ids = 0 if isinstance(submit.prompt, str) else len(submit.prompt or ())
    tools = len(msgspec.msgpack.encode(submit.tools)) if submit.tools else 0
    return INTEGER_BYTES * num_ids + OBJECT_FACTOR * tools


async def whole_answer(
    gateway: GatewayContext,
    request: HttpRequest,
    identity: Identity,
    submits: Sequence[EncodedSubmit],
    render: Callable[[Sequence[Result]], Any],
    *,
    names: FieldNames,
) -> ASGIResponse:
    """All results in one body; errors name fields by `names`, and the headers of `identity`."""
    work = results_of(gateway.client, submits)
    with errors_name_fields_as_given({**names, **identity.field_names}):
        results = await unless_disconnected(
            gateway, request.receive, work, survives_disconnect=identity.survives_disconnect
        )
    return json_response(render(results))


async def streamed_answer(
    gateway: GatewayContext,
    request: HttpRequest,
    identity: Identity,
    submits: Sequence[EncodedSubmit],
    chunks: ChunkMaker,
    *,
    names: FieldNames,
    form: StreamFormat = OPENAI_STREAM,
) -> ASGIResponse:
    """The answer as a stream; errors name fields by `names`, and the headers of `identity`."""
    stream = await begun_stream(gateway, request, identity, submits, chunks, names=names, form=form)
    return EventStreamResponse(stream.frames(), form.media_type)


async def begun_stream(
    gateway: GatewayContext,
    request: HttpRequest,
    identity: Identity,
    submits: Sequence[EncodedSubmit],
    chunks: ChunkMaker,
    *,
    names: FieldNames,
    form: StreamFormat,
    failed: FailureEvents | None = None,
) -> AnswerStream:
    """The stream of an answer whose first token has come; a later failure is told as `failed` says."""
    names = {**names, **identity.field_names}
    if identity.positions:
        gateway.metrics.note_resumed()
    if failed is None:
        failed = partial(_failure_events, request.scope["state"]["error_format"], identity.request_id)
    stream = AnswerStream(gateway, identity, submits, chunks, names=names, failed=failed, form=form)
    with errors_name_fields_as_given(names):
        await unless_disconnected(gateway, request.receive, stream.begin())
    return stream


def _failure_events(error_format: ErrorFormat, request_id: str, failure: Exception) -> list[dict[str, Any]]:
    """An error; with that of a cloud's answer that broke off, the local model's answer."""
    body = error_format(info_of(failure, request_id), request_id)
    result = failure.result if isinstance(failure, CactusError) else None
    if result is None or result.handoff.local_text is UNSET:
        return [body]
    return [body | {"handoff": msgspec.to_builtins(result.handoff)}]
