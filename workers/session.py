"""The worker's session with the router: commands and time in, messages out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec.structs import asdict, replace

from cactus_actors.config import HEARTBEAT_S
from cactus_actors.process.resident_memory import resident_mb
from cactus_actors.protocol.block_hashes import short_hash
from cactus_actors.protocol.errors import ConfigurationInvalid, NotSupported
from cactus_actors.protocol.worker_messages import (
    Abort,
    Adapters,
    AdaptersLoaded,
    Dispatch,
    Drain,
    Draining,
    Goodbye,
    Hello,
    Refused,
    Report,
    ReportsTaken,
    RouterCommand,
    SequenceDelta,
    Welcome,
    WorkerMessage,
)
from cactus_actors.workers.engine.engine import Engine
from cactus_actors.workers.report_window import ReportWindow

HELLO_RETRY_S = 3.0
MAX_FORECAST_AGE = 16
"""Reports with one forecast of the cache while no sequence comes, begins or ends: it takes as long as their tokens."""

LoadAdapter = Callable[[str], int]
"""Path of an adapter -> its slot in the model; raises CactusError."""


def no_adapters(path: str) -> int:
    """The loader of a worker whose model takes no adapters."""
    raise NotSupported(f"this worker loads no adapters: {path}")


class WorkerSession:
    """Runs an engine for a router, without sockets and clocks, on one thread.

    A session begins with a Welcome: earlier dispatches are void, and counts start at zero. A worker requests a
    session with Hello. An unrequested Welcome means that the router does not know the worker, so it sends
    Hello. Outside a session it sends nothing else.

    It stops computing when too many of its reports are unread by the router, and then sends heartbeats only.
    """

    def __init__(
        self, engine: Engine, hello: Hello, load_adapter: LoadAdapter = no_adapters, steps_together: int = 1
    ) -> None:
        """A report may wait for the deltas of `steps_together` steps, until a sequence ends."""
        self._engine = engine
        self._load_adapter = load_adapter
        self._hello = hello
        self._is_welcome = False
        self._sent_hello_at = 0.0
        self._num_accepted = 0
        self._reports = ReportWindow(hello.max_reports_ahead, steps_together)
        self._last_report: Report | None = None
        self._spare_blocks = self._forecast_age = 0
        self._forecast_of: tuple[int, int, int] | None = None
        self._reported_at = 0.0
        self._missing_adapters: dict[str, str] = {}  # paths by key
        self._must_report_adapters = False
        self._ram_usage_mb, self._measured_at = 0.0, -HEARTBEAT_S
        self._is_draining = False
        self.has_left = False

    @property
    def has_work(self) -> bool:
        """True if a tick would run a step or load an adapter."""
        return bool(self._missing_adapters) or self._has_step

    @property
    def _has_step(self) -> bool:
        return self._engine.has_work and self._reports.may_step

    @property
    def state(self) -> Literal["ready", "draining", "left"]:
        """A draining worker finishes its dispatches, then it has left."""
        if self.has_left:
            return "left"
        return "draining" if self._is_draining else "ready"

    def begin(self, now: float) -> list[WorkerMessage]:
        """Request a session, at the start and whenever the last one may be broken; running dispatches are void."""
        self._drop_sequences()
        self._is_welcome = False
        self._sent_hello_at = now
        return [self._hello]

    def on_command(self, command: RouterCommand, now: float) -> list[WorkerMessage]:
        """Handle a command of the router; returns immediate answers.

        Raises ConfigurationInvalid if the router refuses this worker.
        """
        match command:
            case Dispatch():
                self._num_accepted += 1
                if command.adapter in self._missing_adapters:
                    self._load(command.adapter)
                self._engine.add(command)
            case Abort(dispatch_id):
                self._engine.abort(dispatch_id)
                self._reports.drop(dispatch_id)
            case Drain():
                return self.drain()
            case ReportsTaken():
                self._reports.on_taken(command)
            case Adapters():
                self._on_adapters(command)
            case Welcome():
                return self._on_welcome(now)
            case Refused(differs, reason):
                raise ConfigurationInvalid(f"the router gives this worker no jobs: {reason}", param=differs)
        return []

    def drain(self) -> list[WorkerMessage]:
        """Finish running dispatches, then leave; dispatches already sent by the router are still accepted."""
        if self._is_draining:
            return []
        self._is_draining = True
        return [Draining()] if self._is_welcome else []

    def leave(self) -> list[WorkerMessage]:
        """Leave now; running dispatches must run elsewhere."""
        self._engine.abort_all()
        self.has_left = True
        return [Goodbye()]

    def on_tick(self, now: float) -> list[WorkerMessage]:
        """Run a step if there is work; report its deltas, or send a heartbeat."""
        if self._has_step:
            self._reports.hold_step(self._engine.step())
        messages: list[WorkerMessage] = []
        if self._missing_adapters:  # one a tick, so that sequences go on and the router hears of this worker
            self._load(next(iter(self._missing_adapters)))
        if self._must_report_adapters and not self._missing_adapters:
            self._must_report_adapters = False
            messages.append(AdaptersLoaded(sorted(self._engine.adapters.keys), self._engine.adapters.failures))
        if not self._is_welcome:
            if now - self._sent_hello_at >= HELLO_RETRY_S:
                messages += self.begin(now)
        else:
            if now - self._measured_at >= HEARTBEAT_S:
                self._ram_usage_mb, self._measured_at = resident_mb(), now
            is_due = now - self._reported_at >= HEARTBEAT_S
            if self._reports.may_report or is_due:
                report = self._report(self._reports.take() if self._reports.may_report else [])
                if is_due or self._has_changed(report):
                    self._last_report, self._reported_at = report, now
                    self._reports.on_sent()
                    messages.append(report)
        if self._is_draining and not (self._engine.has_work or self._reports.holds_deltas):
            messages += self.leave()
        return messages

    def _has_changed(self, report: Report) -> bool:
        """True if the report has deltas, or differs from the last one in more than `num_taken`."""
        last = self._last_report
        return bool(report.deltas) or last is None or report != replace(last, num_taken=report.num_taken)

    def _on_welcome(self, now: float) -> list[WorkerMessage]:
        # Reports that reached a new router before our Hello did were each answered with a Welcome.
        is_answer = not self._is_welcome or now - self._sent_hello_at < HEARTBEAT_S
        if not is_answer:
            return self.begin(now)
        self._drop_sequences()
        self._is_welcome = True
        return [Draining()] if self._is_draining else []

    def _on_adapters(self, command: Adapters) -> None:
        """Drop the adapters that are not wanted, and load missing ones in the next ticks."""
        table = self._engine.adapters
        wanted = {files.key: files.path for files in command.adapters}
        for key in table.keys - wanted.keys():
            table.drop(key)
        self._missing_adapters = {key: path for key, path in wanted.items() if key not in table.keys}
        self._must_report_adapters = True

    def _load(self, key: str) -> None:
        path = self._missing_adapters.pop(key)
        try:
            self._engine.adapters.add(key, self._load_adapter(path))
        except Exception as error:  # one adapter must not end the worker
            reason = str(error) or type(error).__name__
            self._engine.adapters.fail(key, f"the adapter cannot be loaded: {reason}")

    def _drop_sequences(self) -> None:
        self._engine.abort_all()
        self._engine.counters.reset()
        self._engine.republish_cache_events()
        self._num_accepted = 0
        self._reports.reset()
        self._last_report = self._forecast_of = None

    def _report(self, deltas: list[SequenceDelta]) -> Report:
        engine = self._engine
        events = engine.take_cache_events()
        return Report(
            num_accepted=self._num_accepted,
            free_slots=engine.free_slots,
            free_blocks=self._forecast_blocks(),
            num_running=engine.num_running,
            deltas=deltas,
            ram_usage_mb=self._ram_usage_mb,
            stored=[short_hash(block) for block in events.stored],
            evicted=[short_hash(block) for block in events.evicted],
            num_taken=self._reports.num_taken,
            **asdict(engine.counters),
        )

    def _forecast_blocks(self) -> int:
        """The spare blocks of the engine, as of a moment with the same sequences."""
        engine = self._engine
        sequences = self._num_accepted, engine.free_slots, engine.num_running
        self._forecast_age += 1
        if sequences != self._forecast_of or self._forecast_age >= MAX_FORECAST_AGE:
            self._forecast_of, self._forecast_age = sequences, 0
            self._spare_blocks = engine.spare_blocks
        return self._spare_blocks
