"""Answers of OpenAI's Responses: whole, as a stream, or later; a stored one is the same however it is read."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import AsyncIterator
from typing import Any

from litestar.response.base import ASGIResponse

from cactus_actors.api.field_names import FieldNames, errors_name_fields_as_given
from cactus_actors.api.openai import BodyRequest
from cactus_actors.api.responses import EndedAnswer, ResponseEvents, ResponseHead
from cactus_actors.client.submit import EncodedSubmit
from cactus_actors.gateway.answers.answer_stream import AnswerStream
from cactus_actors.gateway.answers.disconnects import unless_disconnected
from cactus_actors.gateway.answers.job_responses import begun_stream, json_response
from cactus_actors.gateway.answers.streaming_response import RESPONSES_STREAM, EventStreamResponse
from cactus_actors.gateway.context import GatewayContext
from cactus_actors.gateway.files.response_store import StoredResponse
from cactus_actors.gateway.files.stored_responses import TRANSIENT, answer_of, rendered
from cactus_actors.gateway.http.error_responses import info_of
from cactus_actors.gateway.http.identity import Identity
from cactus_actors.gateway.http.request_body import HttpRequest
from cactus_actors.protocol.errors import CactusError, error_from_info
from cactus_actors.protocol.messages import Finished


class ResponseAnswers:
    """The answers to one HTTP request about one response; errors name fields by `names`."""

    def __init__(self, gateway: GatewayContext, request: HttpRequest, identity: Identity, names: FieldNames) -> None:
        self._gateway = gateway
        self._request = request
        self._identity = identity
        self._names = {**names, **identity.field_names}

    async def whole(self, head: ResponseHead, asked: BodyRequest, job: EncodedSubmit) -> ASGIResponse:
        """The answer of a response that is not stored."""
        answer = await self._awaited(job)
        events = ResponseEvents(head, asked)
        events.replayed(answer)
        _raise_error_of(answer)
        return json_response(events.body)

    async def streamed(self, head: ResponseHead, asked: BodyRequest, job: EncodedSubmit) -> ASGIResponse:
        """The same as a stream."""
        stream = await self._begun(ResponseEvents(head, asked), job)
        return EventStreamResponse(stream.frames(), RESPONSES_STREAM.media_type)

    async def whole_and_stored(self, stored: StoredResponse) -> ASGIResponse:
        """The answer of a stored response, once it is kept."""
        record, answer = stored.record, stored.answer
        if answer is None:
            assert stored.job is not None
            try:
                answer = await self._awaited(stored.job)
            except BaseException as error:
                await self._leave(stored, error)
                raise
            await self._gateway.responses.end(record, answer)
        _raise_error_of(answer)
        return json_response(rendered(record, answer).body)

    async def streamed_and_stored(self, stored: StoredResponse, starting_after: int = -1) -> ASGIResponse:
        """The events after a number; the last one comes once the answer is kept."""
        events = ResponseEvents(stored.record.head, stored.record.asked, starting_after)
        if stored.answer is not None:
            frames = b"".join([RESPONSES_STREAM.event(event) for event in events.replayed(stored.answer)])
            return EventStreamResponse(_all_at_once(frames), RESPONSES_STREAM.media_type)
        assert stored.job is not None
        try:
            stream = await self._begun(events, stored.job)
        except BaseException as error:
            await self._leave(stored, error, events)
            raise
        return EventStreamResponse(self._kept(stored, stream, events), RESPONSES_STREAM.media_type)

    async def later(self, stored: StoredResponse) -> ASGIResponse:
        """The response once its job is accepted, or its end if it has one already."""
        record, answer = stored.record, stored.answer
        if answer is not None:
            return json_response(rendered(record, answer).body)
        with errors_name_fields_as_given(self._names):
            try:
                await self._gateway.responses.submitted(stored)
            except BaseException as error:
                await self._leave(stored, error)
                raise
        return json_response(record.head.body("queued"))

    async def _awaited(self, job: EncodedSubmit) -> EndedAnswer:
        gateway, identity = self._gateway, self._identity
        handle = await gateway.client.begin(job)
        work = answer_of(gateway.client, handle)
        with errors_name_fields_as_given(self._names):
            return await unless_disconnected(
                gateway, self._request.receive, work, survives_disconnect=identity.survives_disconnect
            )

    async def _begun(self, events: ResponseEvents, job: EncodedSubmit) -> AnswerStream:
        def failed(failure: Exception) -> list[dict[str, Any]]:
            info = info_of(failure, self._identity.request_id)
            result = failure.result if isinstance(failure, CactusError) else None
            return events.broken(info) if result is None else events.failed(info, result)

        return await begun_stream(
            self._gateway,
            self._request,
            self._identity,
            [job],
            events,
            names=self._names,
            form=RESPONSES_STREAM,
            failed=failed,
        )

    async def _kept(self, stored: StoredResponse, stream: AnswerStream, events: ResponseEvents) -> AsyncIterator[bytes]:
        """The frames of a stream; whatever ends it, the answer is kept."""
        is_kept = False
        try:
            async with contextlib.aclosing(stream.frames()) as frames:  # type: ignore[type-var]
                async for frame in frames:
                    if events.answer is not None and not is_kept:
                        await self._gateway.responses.end(stored.record, events.answer)
                        is_kept = True
                    yield frame
        finally:
            if not is_kept:
                self._gateway.responses.follow(stored)

    async def _leave(self, stored: StoredResponse, error: BaseException, events: ResponseEvents | None = None) -> None:
        """Keep no new response whose job was refused; follow one that goes on, or whose reader has left."""
        responses, may_return = self._gateway.responses, self._identity.survives_disconnect
        if isinstance(error, CactusError) and error.result is not None and events is not None:
            events.failed(error.info(), error.result)
            await responses.end(stored.record, events.answer or EndedAnswer())
        elif not isinstance(error, CactusError) or (may_return and isinstance(error, TRANSIENT)):
            responses.follow(stored)
        elif stored.is_new:
            await responses.delete(stored.record.name)


async def current_body(gateway: GatewayContext, stored: StoredResponse) -> dict[str, Any]:
    """A stored response as it is now."""
    if stored.answer is not None:
        return rendered(stored.record, stored.answer).body
    assert stored.job is not None
    head = stored.record.head
    try:
        state = await gateway.client.retrieve(stored.job.job_id)
    except CactusError:  # the router has not heard of it yet, or does not answer
        return head.body("queued" if head.is_background else "in_progress")
    if not isinstance(state, Finished):
        return head.body("queued" if head.is_background and state.state == "queued" else "in_progress")
    await gateway.responses.follow(stored)
    return await current_body(gateway, await gateway.responses.get(head.response_id, stored.record.tenant))


def surviving(identity: Identity) -> Identity:
    """A request whose job does not end with its connection."""
    return dataclasses.replace(identity, survives_disconnect=True, positions=[])


def _raise_error_of(answer: EndedAnswer) -> None:
    if answer.error is not None:
        error = error_from_info(answer.error)
        error.result = answer.result
        raise error


async def _all_at_once(frames: bytes) -> AsyncIterator[bytes]:
    yield frames
