"""The cloud for a model in this process: the requests of the handoff on a thread, connected by queues."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Mapping

from cactus_actors.config import HEARTBEAT_S, HandoffSettings
from cactus_actors.handoff.cloud_requests import CloudRequests
from cactus_actors.protocol.worker_messages import Abort, Dispatch, Hello, Report, RouterCommand


class CloudLink:
    """One event loop in one thread; `send` and `reports` belong to the thread of the router."""

    def __init__(self, settings: HandoffSettings, environment: Mapping[str, str]) -> None:
        """Start the thread; returns after the first report. Raises ConfigurationInvalid."""
        self._loop = asyncio.new_event_loop()
        self._wake = asyncio.Event()
        self._requests = CloudRequests(settings, environment, self._wake.set)
        self._reports: queue.SimpleQueue[Report] = queue.SimpleQueue()
        self._num_accepted = 0
        self._is_closing = False
        self._first = threading.Event()
        self._thread = threading.Thread(target=self._run, name="cactus-cloud", daemon=True)
        self._thread.start()
        self._first.wait()

    @property
    def hello(self) -> Hello:
        return self._requests.hello()

    @property
    def is_alive(self) -> bool:
        """True if the thread still runs."""
        return self._thread.is_alive()

    def send(self, command: RouterCommand) -> None:
        """Handle a dispatch or an abort."""
        with contextlib.suppress(RuntimeError):  # the loop has ended already
            self._loop.call_soon_threadsafe(self._on_command, command)

    def reports(self, wait_s: float) -> list[Report]:
        """Reports received, after waiting at most `wait_s` seconds for the first."""
        found: list[Report] = []
        with contextlib.suppress(queue.Empty):
            found.append(self._reports.get(timeout=wait_s) if wait_s else self._reports.get_nowait())
            while True:
                found.append(self._reports.get_nowait())
        return found

    def close(self) -> None:
        """Cancel running requests and end the thread."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._set_closing)
        self._thread.join()

    def _set_closing(self) -> None:
        self._is_closing = True
        self._wake.set()

    def _on_command(self, command: RouterCommand) -> None:
        match command:
            case Dispatch():
                self._num_accepted += 1
                self._requests.take(command)
            case Abort(dispatch_id):
                self._requests.abort(dispatch_id)
        self._wake.set()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._work())

    async def _work(self) -> None:
        reported: Report | None = None
        try:
            while not self._is_closing:
                self._wake.clear()
                self._requests.refresh_access(time.monotonic())
                self._requests.start_waiting()
                updates = self._requests.updates()
                report = Report(
                    num_accepted=self._num_accepted,
                    free_slots=self._requests.free_slots(),
                    free_blocks=0,
                    num_running=self._requests.num_running,
                    deltas=[job.delta() for job in updates],
                    tokens_generated=self._requests.num_completion_tokens,
                    unavailable=self._requests.unavailable(),
                )
                if report != reported:
                    reported = report
                    self._reports.put(report)
                    self._requests.delivered(updates)
                self._first.set()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(HEARTBEAT_S):
                        await self._wake.wait()
        finally:
            self._first.set()
            await self._requests.aclose()
