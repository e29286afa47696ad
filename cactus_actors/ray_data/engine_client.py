"""An engine of this process that answers jobs like a service."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from typing import NamedTuple, Self

from cactus_actors.client.submit import EncodedSubmit, encoded
from cactus_actors.config import HandoffSettings
from cactus_actors.protocol.errors import CactusError, ServerFailure, error_from_info
from cactus_actors.protocol.messages import Cancel, ClientMessage, Delta, Finished, Rejected, Status, Submit
from cactus_actors.protocol.results import Result
from cactus_actors.protocol.wire import RequestDecoder
from cactus_actors.sdk.engine_choice import EngineChoice
from cactus_actors.sdk.local_service import LocalService

IDLE_WAIT_S = 0.05
STEPS_TOGETHER = 8
"""Steps whose tokens the router may hear of at once: rows have whole answers."""

_Outcome = Finished | Rejected | CactusError


class _Answered(NamedTuple):
    """Where the outcome of a job is waited for."""

    loop: asyncio.AbstractEventLoop
    outcome: asyncio.Future[_Outcome]


class _Asked(NamedTuple):
    message: ClientMessage
    pictures: tuple[bytes, ...]
    answered: _Answered | None


class EngineClient:
    """A LineClient: one thread runs router and worker, whose jobs come from any number of event loops.

    Its status is that of its start. Raises ModelFileInvalid and ConfigurationInvalid.
    """

    def __init__(self, choice: EngineChoice) -> None:
        self._service = LocalService(choice, HandoffSettings(), self._on_message, STEPS_TOGETHER)
        self._status = self._service.status()
        self._inbox: queue.SimpleQueue[_Asked | None] = queue.SimpleQueue()
        self._waiting: dict[str, _Answered] = {}
        self._ended: list[tuple[_Answered, _Outcome]] = []
        self._requests = RequestDecoder()
        self._thread = threading.Thread(target=self._work, name="cactus-engine", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._inbox.put(None)
        self._thread.join()

    async def run(self, submit: Submit | EncodedSubmit) -> Result:
        """The result of a job; a cancelled wait cancels the job."""
        to_send = encoded(submit)
        message, pictures = self._requests.decode(to_send.frames)
        loop = asyncio.get_running_loop()
        answered = _Answered(loop, loop.create_future())
        self._inbox.put(_Asked(message, tuple(pictures), answered))
        try:
            outcome = await answered.outcome
        except asyncio.CancelledError:
            self._inbox.put(_Asked(Cancel(job_id=to_send.job_id), (), None))
            raise
        return _result_of(outcome)

    async def status(self) -> Status:
        """The state of the engine."""
        return self._status

    def _work(self) -> None:
        try:
            while self._take():
                self._service.step()
                self._deliver()
            self._service.close()
        except Exception as error:
            failure = ServerFailure(f"the engine failed: {error}")
            self._ended += [(answered, failure) for answered in self._waiting.values()]
            self._deliver()
            while (asked := self._inbox.get()) is not None:
                if asked.answered is not None:
                    self._ended.append((asked.answered, failure))
                    self._deliver()

    def _take(self) -> bool:
        """Send what was asked, after a wait if there is nothing else to do; False at the end."""
        try:
            asked = self._inbox.get_nowait() if self._service.has_work else self._inbox.get(timeout=IDLE_WAIT_S)
            while asked is not None:
                if asked.answered is not None and isinstance(asked.message, Submit):
                    self._waiting[asked.message.job_id] = asked.answered
                self._service.send(asked.message, asked.pictures)
                asked = self._inbox.get_nowait()
        except queue.Empty:
            return True
        return False

    def _on_message(self, message: Delta | Finished | Rejected) -> None:
        if not isinstance(message, Delta) and message.job_id is not None:
            answered = self._waiting.pop(message.job_id, None)
            if answered is not None:
                self._ended.append((answered, message))

    def _deliver(self) -> None:
        """Wake each loop once for all of its jobs that have ended; one that was closed waits for none."""
        by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[_Outcome], _Outcome]]] = {}
        for answered, outcome in self._ended:
            by_loop.setdefault(answered.loop, []).append((answered.outcome, outcome))
        self._ended.clear()
        for loop, outcomes in by_loop.items():
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(_set, outcomes)


def _set(outcomes: list[tuple[asyncio.Future[_Outcome], _Outcome]]) -> None:
    for answered, outcome in outcomes:
        if not answered.done():
            answered.set_result(outcome)


def _result_of(outcome: _Outcome) -> Result:
    if isinstance(outcome, CactusError):
        raise outcome
    if isinstance(outcome, Rejected):
        raise error_from_info(outcome.error)
    result = outcome.result
    if result.success:
        return result
    error = CactusError("the job failed without a reason") if result.error is None else error_from_info(result.error)
    error.result = result
    raise error
