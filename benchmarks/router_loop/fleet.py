"""The process of fake workers: each has its own connection to the router."""

from __future__ import annotations

import heapq
import select
import time
from collections.abc import Callable, Sequence

from benchmarks.router_loop.fake_worker import FakeWorker, spread_ages
from benchmarks.router_loop.zmtp import ZmtpConnection
from cactus_actors.protocol.wire import encode, router_command_decoder
from cactus_actors.protocol.worker_messages import ReportsTaken, SequenceDelta, Welcome
from cactus_actors.workers.report_window import ReportWindow

HEARTBEAT_S = 1.0
MAX_REPORTS_AHEAD = 32
MAX_WAIT_S = 0.01
LATE_STEPS = 10
"""Steps that a delayed worker may catch up."""
STAMP = "@"
"""Begins the text of each token; the time of its sending follows, by the monotonic clock."""


class ConnectedWorker:
    """One fake worker, at most as far ahead of the router as the protocol allows."""

    def __init__(self, endpoint: str, name: str, slots: int, ages: Sequence[float]) -> None:
        self.connection = ZmtpConnection(endpoint, "DEALER")
        self._worker = FakeWorker(name, slots, ages=ages, max_reports_ahead=MAX_REPORTS_AHEAD)
        self._decode = router_command_decoder().decode
        self._reporting = ReportWindow(MAX_REPORTS_AHEAD)
        self._spoke_at = 0.0
        self.is_welcome = False
        self.connection.send(*encode(self._worker.hello))

    @property
    def may_step(self) -> bool:
        return self.is_welcome and self._worker.num_running > 0 and self._reporting.may_step

    def hear(self) -> None:
        """Take the commands that have arrived."""
        for frames in self.connection.receive():
            command = self._decode(frames)
            if isinstance(command, Welcome):
                self.is_welcome = True
            elif isinstance(command, ReportsTaken):
                self._reporting.on_taken(command)
            else:
                self._worker.take(command)

    def turn(self, now: float) -> None:
        """Run a step and report it, alone or with others, or send a heartbeat."""
        if self.may_step:
            self._reporting.hold_step(self._worker.step(f" {STAMP}{time.monotonic():.6f}"))
        if self._reporting.may_report and self._reporting.holds_deltas:
            self._say(now, self._reporting.take())
        elif self.is_welcome and now - self._spoke_at >= HEARTBEAT_S:
            self._say(now, [])

    def _say(self, now: float, deltas: list[SequenceDelta]) -> None:
        self._spoke_at = now
        self._reporting.on_sent()
        self.connection.send(*encode(self._worker.report(deltas, self._reporting.num_taken)))


class Fleet:
    """All workers; each runs a step every `step_s` seconds, if the router permits."""

    def __init__(self, endpoint: str, num_workers: int, slots: int) -> None:
        ages = spread_ages(num_workers, slots)
        self._workers = [ConnectedWorker(endpoint, f"w{number}", slots, ages[number]) for number in range(num_workers)]
        self._by_descriptor = {worker.connection.fileno(): worker for worker in self._workers}
        self._poll = select.epoll()
        for descriptor in self._by_descriptor:
            self._poll.register(descriptor, select.EPOLLIN)
        self._due = [(time.monotonic(), number) for number in range(num_workers)]

    def turn(self, step_s: float) -> None:
        """Wait until something is due, and do it."""
        self._hear(self._due[0][0] - time.monotonic())
        now = time.monotonic()
        while self._due[0][0] <= now:
            due, number = self._due[0]
            self._workers[number].turn(now)
            heapq.heapreplace(self._due, (max(due + step_s, now - LATE_STEPS * step_s), number))

    def spread(self, step_s: float) -> None:
        """Distribute the steps of the workers evenly over the period."""
        now, number_of = time.monotonic(), len(self._workers)
        self._due = [(now + step_s * number / number_of, number) for number in range(number_of)]

    def _hear(self, wait_s: float) -> None:
        for descriptor, _ in self._poll.poll(max(0.0, min(wait_s, MAX_WAIT_S))):
            self._by_descriptor[descriptor].hear()


def run_fleet(endpoint: str, num_workers: int, slots: int, step_s: Callable[[], float]) -> None:
    """Run the workers until the process is ended; `step_s` is read again and again."""
    fleet = Fleet(endpoint, num_workers, slots)
    last = step_s()
    fleet.spread(last)
    while True:
        if (wished := step_s()) != last:
            last = wished
            fleet.spread(last)
        fleet.turn(last)
