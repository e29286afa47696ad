"""A streamed answer: events of jobs become the frames that the reader has not seen."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Protocol

from cactus_actors.api.field_names import FieldNames, name_as_given
from cactus_actors.client.submit import EncodedSubmit
from cactus_actors.gateway.answers.choices import ChoiceStreams, StreamEvent
from cactus_actors.gateway.answers.streaming_response import OPENAI_STREAM, StreamFormat
from cactus_actors.gateway.context import GatewayContext, stopping_error
from cactus_actors.gateway.http.identity import Identity
from cactus_actors.gateway.http.stream_positions import StreamPosition, event_id
from cactus_actors.protocol.errors import CactusError
from cactus_actors.protocol.messages import Accepted, Delta
from cactus_actors.protocol.results import Result

HOLD_PER_STREAM_S, MAX_HOLD_S = 0.000_25, 0.02
"""Least seconds between two events of a stream, for each open one and at most; tokens that arrive sooner share one.

An event takes about 0.1 ms of the processor: the streams of a crowd leave more than half of it to others.
"""


class ChunkMaker(Protocol):
    """Turns events of a choice into the JSON of chunks, as `api.openai.stream_chunks.Chunks` does."""

    def accepted(self, choice: int, accepted: Accepted) -> list[dict[str, Any]]: ...

    def delta(self, choice: int, delta: Delta) -> list[dict[str, Any]]: ...

    def finished(self, choice: int, result: Result) -> list[dict[str, Any]]: ...

    def usage(self) -> list[dict[str, Any]]: ...


FailureEvents = Callable[[Exception], list[dict[str, Any]]]
"""The last events of a stream that fails."""


def hold_s(num_streams: int) -> float:
    """The least seconds between two events of a stream, among that many open ones; none for one alone."""
    return min(MAX_HOLD_S, HOLD_PER_STREAM_S * num_streams) if num_streams > 1 else 0.0


class AnswerStream:
    """The events of one request; `begin` it, then send its `frames`.

    Chunks are made from the beginning, because a chunk may depend on all before it, and sent from the reader's
    position on.
    """

    def __init__(
        self,
        gateway: GatewayContext,
        identity: Identity,
        submits: Sequence[EncodedSubmit],
        chunks: ChunkMaker,
        *,
        names: FieldNames,
        failed: FailureEvents,
        form: StreamFormat = OPENAI_STREAM,
    ) -> None:
        self._gateway = gateway
        self._identity = identity
        self._chunks = chunks
        self._names = names
        self._failed = failed
        self._form = form
        self._choices = ChoiceStreams(gateway.client, submits)
        self._seen = identity.positions_of(len(submits))
        self._positions = [StreamPosition() for _ in submits]
        self._first: list[StreamEvent] = []
        self._counted_at = 0.0
        self._rendered_at = time.monotonic()
        self._is_quiet = False
        self._timer: asyncio.TimerHandle | None = None

    async def begin(self) -> None:
        """Wait for the first token, so that a request that fails before it gets an HTTP status.

        Returns without a token once the ping interval is over.
        """
        self._wake_later()
        try:
            while not any(isinstance(one.content, Delta | Result) for one in self._first) and not self._is_quiet:
                await self._choices.wait()
                self._first += self._choices.taken()
        except BaseException:
            await self._close()
            raise

    async def frames(self) -> AsyncIterator[bytes]:
        """Bytes to send as they are."""
        metrics = self._gateway.metrics
        metrics.num_streams += 1
        self._gateway.stopped.add_done_callback(self._on_stopped)
        try:
            yield self._rendered(self._first)
            while not self._choices.is_over:
                await self._choices.wait()
                if (too_soon := self._rendered_at + hold_s(metrics.num_streams) - time.monotonic()) > 0:
                    await asyncio.sleep(too_soon)
                if happened := self._choices.taken():
                    if frames := self._rendered(happened):
                        yield frames
                elif self._is_quiet:
                    self._is_quiet = False
                    if self._form.ping:
                        yield self._form.ping
            yield b"".join([self._form.event(chunk) for chunk in self._chunks.usage()]) + self._form.done
        except Exception as failure:
            self._gateway.note_failure(failure)
            if isinstance(failure, CactusError):
                name_as_given(failure, self._names)
                who = self._identity
                self._gateway.errors.note(who.tenant, "stream", failure.info(), who.request_id)
            yield b"".join([self._form.event(event) for event in self._failed(failure)]) + self._form.done
        finally:
            metrics.num_streams -= 1
            self._gateway.stopped.remove_done_callback(self._on_stopped)
            await self._close()

    def _wake_later(self) -> None:
        """Wake the stream if nothing was rendered for the ping interval."""
        interval = self._gateway.settings.ping_interval_s
        quiet_for = time.monotonic() - self._rendered_at
        if quiet_for >= interval:
            self._is_quiet = True
            self._choices.wake()
            self._rendered_at, quiet_for = time.monotonic(), 0.0
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(interval - quiet_for, self._wake_later)

    def _on_stopped(self, _: asyncio.Future[None]) -> None:
        self._choices.fail(stopping_error())

    async def _close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        await self._choices.close(cancel=not self._identity.survives_disconnect)

    def _rendered(self, happened: Sequence[StreamEvent]) -> bytes:
        self._rendered_at = time.monotonic()
        return b"".join([frame for one in happened for frame in self._frames_of(one)])

    def _frames_of(self, stream_event: StreamEvent) -> list[bytes]:
        choice = stream_event.choice
        seen, place = self._seen[choice], self._positions[choice]
        match stream_event.content:
            case Accepted() as accepted:
                chunks = self._chunks.accepted(choice, accepted)
                place.is_begun = bool(chunks)
                return [] if seen.is_begun else self._events(chunks)
            case Delta() as delta:
                self._observe(len(delta.token_ids))
                before, after = seen.halves(delta, place)
                place.advance(delta)
                if before is not None:
                    self._chunks.delta(choice, before)
                return [] if after is None else self._events(self._chunks.delta(choice, after))
            case Result() as result:
                place.is_ended = True
                chunks = self._chunks.finished(choice, result)
                return [] if seen.is_ended else self._events(chunks)

    def _events(self, chunks: Sequence[dict[str, Any]]) -> list[bytes]:
        if not self._identity.survives_disconnect or not self._form.has_ids:
            return [self._form.event(chunk) for chunk in chunks]
        name = event_id(self._identity.request_id, self._positions)
        # Only the last event has the id: only then has the reader reached the position.
        event = self._form.event
        return [event(chunk) for chunk in chunks[:-1]] + [event(chunk, name) for chunk in chunks[-1:]]

    def _observe(self, num_tokens: int) -> None:
        now = time.monotonic()
        if not self._counted_at:
            self._gateway.metrics.note_first_token(now - self._identity.received_at)
        elif num_tokens:
            self._gateway.metrics.note_tokens(num_tokens, now - self._counted_at)
        self._counted_at = now
