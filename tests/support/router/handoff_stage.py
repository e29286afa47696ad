"""The router's end of a handoff actor's socket, and actors that run on threads."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import msgspec
import zmq
import zmq.asyncio

from cactus_actors.config import HandoffSettings
from cactus_actors.handoff.actor import HandoffActor
from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.wire import encode, worker_message_decoder
from cactus_actors.protocol.worker_messages import (
    CloudRequest,
    Dispatch,
    Hello,
    Report,
    SequenceDelta,
    Welcome,
    WorkerMessage,
)
from tests.support.http.fake_cloud import FakeCloud

M = TypeVar("M")
PATIENCE_S = 60.0


def make_dispatch(dispatch_id: int, **changes: Any) -> Dispatch:
    dispatch = Dispatch(
        dispatch_id=dispatch_id,
        job_id="0" * 32,
        prompt_ids=[],
        emitted_ids=[],
        params=SamplingParams(max_tokens=8),
        request=CloudRequest(prompt="What is the capital of France?"),
    )
    return msgspec.structs.replace(dispatch, **changes)


class Router:
    """The router's end of the workers socket, and a handoff actor on a thread."""

    def __init__(self, endpoint: str = "tcp://127.0.0.1:*") -> None:
        self._context = zmq.asyncio.Context()
        self._socket = self._context.socket(zmq.ROUTER)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.bind(endpoint)
        self.endpoint = self._socket.getsockopt_string(zmq.LAST_ENDPOINT)
        self._decoder = worker_message_decoder()
        self._identity = b""
        self.deltas: dict[int, list[SequenceDelta]] = {}
        self.reports: list[Report] = []

    async def receive(self) -> WorkerMessage:
        async with asyncio.timeout(PATIENCE_S):
            self._identity, *frames = await self._socket.recv_multipart()
        message = self._decoder.decode(frames)
        if isinstance(message, Report):
            self.reports.append(message)
            for delta in message.deltas:
                self.deltas.setdefault(delta.dispatch_id, []).append(delta)
        return message

    async def send(self, message: msgspec.Struct) -> None:
        await self._socket.send_multipart([self._identity, *encode(message)])

    async def expect(self, kind: type[M], where: Callable[[M], bool] = lambda _: True) -> M:
        """The next message of `kind` that satisfies `where`; others are recorded and skipped."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            message = await self.receive()
            if isinstance(message, kind) and where(message):
                return message
        raise AssertionError(f"no {kind.__name__} like that in {PATIENCE_S} s")

    async def until(self, where: Callable[[Report], bool]) -> Report:
        """The latest Report, or the first later one, that satisfies `where`."""
        while not (self.reports and where(self.reports[-1])):
            await self.expect(Report)
        return self.reports[-1]

    async def welcome(self, epoch: int = 1) -> Hello:
        hello = await self.expect(Hello)
        await self.send(Welcome(epoch))
        await self.expect(Report)
        return hello

    async def finished(self, dispatch_id: int) -> SequenceDelta:
        """Read until a job ends; returns its last delta."""
        while not any(delta.finish for delta in self.deltas.get(dispatch_id, [])):
            await self.expect(Report)
        return self.deltas[dispatch_id][-1]

    def close(self) -> None:
        self._socket.close()
        self._context.term()


class Stage:
    """One router and the actors that were started for it."""

    def __init__(self, router: Router) -> None:
        self.router = router
        self.runs: list[tuple[HandoffActor, asyncio.Future[str]]] = []

    def start(self, cloud: FakeCloud | None = None, **changes: Any) -> HandoffActor:
        settings = HandoffSettings(
            base_url=cloud.base_url if cloud else "https://cloud.invalid/v1",
            read_timeout_s=60.0,
            max_concurrent=2,
            max_retries=0,
            model="big",
        )
        actor = HandoffActor(msgspec.structs.replace(settings, **changes))
        loop = asyncio.get_running_loop()
        self.runs.append((actor, loop.run_in_executor(None, actor.run, self.router.endpoint)))
        return actor

    async def ended(self) -> str:
        async with asyncio.timeout(PATIENCE_S):
            return await self.runs[-1][1]


@asynccontextmanager
async def open_stage() -> AsyncIterator[Stage]:
    """A stage whose actors are stopped at the end."""
    stage = Stage(Router())
    yield stage
    for actor, run in stage.runs:
        actor.stop()
        await asyncio.wait_for(run, PATIENCE_S)
    stage.router.close()
