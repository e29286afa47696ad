"""The router's decisions in virtual time, with a worker whose step time depends on its work."""

from __future__ import annotations

import csv
import math
import random
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from cactus_actors.api.params import resolve_options
from cactus_actors.config import RouterSettings
from cactus_actors.protocol.messages import Finished, Rejected, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.wire import decode_submit
from cactus_actors.protocol.worker_messages import (
    Abort,
    CloudRequest,
    Dispatch,
    Finish,
    Hello,
    Report,
    SequenceDelta,
)
from cactus_actors.router.core import RouterCore
from cactus_actors.router.effects import Effect, PrepareRequest, SendClient, SendWorker
from cactus_actors.router.state.prepared_request import PreparedRequest
from cactus_actors.router.state.service_facts import ServiceFacts

NUM_SLOTS = 16
MAX_PROMPT, MAX_GENERATED = 2000, 500
WORKER = b"worker"


@dataclass(frozen=True)
class Request:
    """One request of a trace; it generates `generated` of the `allowed` tokens.

    The request states `min_tokens`, a lower bound of `generated`.
    """

    prompt: int
    generated: int
    allowed: int
    min_tokens: int = 0


@dataclass
class Outcome:
    """The outcome of the requests of one load."""

    load: float
    seconds: float
    num_sent: int = 0
    num_in_time: int = 0
    num_too_late: int = 0
    refusal_s: list[float] = field(default_factory=list)

    def report(self, base: Outcome | None) -> dict[str, float]:
        """The result as text; `base` is that of the first load."""
        goodput = self.num_in_time / self.seconds
        ordered = sorted(self.refusal_s)
        p99 = ordered[int(0.99 * (len(ordered) - 1))] if ordered else 0.0
        return {
            "load": self.load,
            "sent": self.num_sent,
            "in_time": self.num_in_time,
            "too_late": self.num_too_late,
            "refused": len(ordered),
            "refusal_ms_p99": round(1000 * p99, 2),
            "goodput": round(goodput, 3),
            "ratio": round(goodput / (base.num_in_time / base.seconds), 3) if base else 1.0,
        }


def requests_of(trace: Path | None, count: int, seed: int) -> list[Request]:
    """Requests in the order of a trace, in another order, or drawn from distributions of its shape."""
    chooser = random.Random(seed)
    if trace is not None:
        with trace.open() as file:
            rows = [(int(row["ContextTokens"]), int(row["GeneratedTokens"])) for row in csv.DictReader(file)]
    else:
        rows = [(int(chooser.lognormvariate(6.6, 0.9)), int(chooser.lognormvariate(5.0, 0.8))) for _ in range(3000)]
    drawn = [chooser.choice(rows) for _ in range(count)]
    return [
        Request(max(1, min(prompt, MAX_PROMPT)), length, length * chooser.choice((1, 1, 2)))
        for prompt, generated in drawn
        for length in [max(1, min(generated, MAX_GENERATED))]
    ]


def forced_requests(lengths: list[int], count: int, seed: int) -> list[Request]:
    """Requests with short prompts, each of which must generate one of these lengths."""
    chooser = random.Random(seed)
    return [Request(50, one, one, one) for one in (chooser.choice(lengths) for _ in range(count))]


@dataclass
class Sequence:
    """A job at the simulated worker."""

    dispatch: Dispatch
    request: Request
    to_compute: int
    num_generated: int = 0


class Simulation:
    """The router's core and one worker in virtual time; each request belongs to one of `num_users` users."""

    def __init__(self, timeout_s: float | None, num_users: int = 1, num_slots: int = NUM_SLOTS) -> None:
        self.core = RouterCore(RouterSettings(), ServiceFacts(epoch=1, started_at=0.0))
        self.now = 0.0
        self.finished: list[tuple[int, bool, float]] = []
        """Number, whether it was in time, and when it ended."""
        self.refused: list[int] = []
        self._timeout_s = timeout_s
        self._num_users = num_users
        self._num_slots = num_slots
        self._requests: dict[str, tuple[int, Request]] = {}
        self._running: dict[int, Sequence] = {}
        self._deck: deque[Sequence] = deque()
        self._num_accepted = 0
        self._deltas: list[SequenceDelta] = []
        self._next_step = math.inf
        self._next_tick = 0.0
        hello = Hello("w", "local", "sim", num_slots, 1 << 20, 16, 1 << 20, "here", 1)
        self._perform(self.core.on_worker(WORKER, hello, 0.0))

    def run(self, arrivals: list[tuple[float, Request]], until: float) -> None:
        """Submit requests and let time pass until `until`."""
        coming = deque(enumerate(arrivals))
        while True:
            arrival = coming[0][1][0] if coming else math.inf
            self.now = min(arrival, self._next_step, self._next_tick)
            if self.now > until:
                return
            if self.now == arrival:
                number, (_, request) = coming.popleft()
                self._submit(number, request)
            elif self.now == self._next_step:
                self._step()
            else:
                self._next_tick = self.now + 0.1
                if not self._running:
                    self._report([])
                self._perform(self.core.on_tick(self.now))

    def _submit(self, number: int, request: Request) -> None:
        job_id = f"{number:032x}"
        self._requests[job_id] = (number, request)
        options = Options(
            max_tokens=request.allowed,
            min_tokens=request.min_tokens,
            timeout_ms=None if self._timeout_s is None else round(1000 * self._timeout_s),
            user=f"user {number % self._num_users}",
        )
        submit = Submit(job_id=job_id, prompt="x" * (4 * request.prompt), options=options)
        self._perform(self.core.on_client(job_id.encode(), submit, "m", self.now))

    def _perform(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, PrepareRequest):
                self._prepare(effect)
            elif isinstance(effect, SendWorker):
                self._take(effect.message)
            elif isinstance(effect, SendClient):
                self._hear(effect.message)

    def _prepare(self, effect: PrepareRequest) -> None:
        submit = decode_submit(effect.content)
        _, request = self._requests[submit.job_id]
        params, policy = resolve_options(submit.options, context_left=1 << 20)
        prepared = PreparedRequest([1] * request.prompt, params, policy, CloudRequest(prompt=""), "sim")
        self._perform(self.core.on_prepared(effect.job_id, prepared, self.now))

    def _take(self, message: object) -> None:
        if isinstance(message, Dispatch):
            _, request = self._requests[message.job_id]
            self._num_accepted += 1
            num_emitted = len(message.emitted_ids)
            self._deck.append(Sequence(message, request, request.prompt + num_emitted, num_emitted))
            if self._next_step == math.inf:
                self._begin_step()
        elif isinstance(message, Abort):
            self._running.pop(message.dispatch_id, None)
            self._deck = deque(one for one in self._deck if one.dispatch.dispatch_id != message.dispatch_id)

    def _begin_step(self) -> None:
        """Begin a step of up to 256 prompt tokens and one token of each sequence that is past its prompt."""
        while self._deck and len(self._running) < self._num_slots:
            sequence = self._deck.popleft()
            self._running[sequence.dispatch.dispatch_id] = sequence
        if not self._running:
            self._next_step = math.inf
            return
        budget, self._deltas = 256, []
        for dispatch_id, sequence in list(self._running.items()):
            if sequence.to_compute:
                taken = min(budget, sequence.to_compute)
                budget -= taken
                sequence.to_compute -= taken
            else:
                self._deltas.append(self._generate(dispatch_id, sequence))
        seconds = 0.004 + 0.0005 * len(self._running) + 0.00015 * (256 - budget)
        self._next_step = self.now + seconds

    def _generate(self, dispatch_id: int, sequence: Sequence) -> SequenceDelta:
        position = sequence.num_generated
        sequence.num_generated += 1
        finish = Finish("length") if sequence.num_generated >= sequence.request.generated else None
        if finish is not None:
            del self._running[dispatch_id]
        return SequenceDelta(dispatch_id, position, [1], "x", [0.1], [-0.1], finish=finish)

    def _step(self) -> None:
        self._report(self._deltas)
        self._begin_step()

    def _report(self, deltas: list[SequenceDelta]) -> None:
        free = self._num_slots - len(self._running)
        report = Report(self._num_accepted, free, 1 << 20, len(self._running), deltas)
        self._perform(self.core.on_worker(WORKER, report, self.now))

    def _hear(self, message: object) -> None:
        if isinstance(message, Finished):
            number, _ = self._requests[message.job_id]
            self.finished.append((number, bool(message.result.success), self.now))
        elif isinstance(message, Rejected) and message.job_id is not None:
            self.refused.append(self._requests[message.job_id][0])


def simulated_capacity(requests: list[Request], count: int = 400, num_slots: int = NUM_SLOTS) -> float:
    """Requests per second of a worker that always has enough work."""
    simulation = Simulation(None, num_slots=num_slots)
    simulation.run([(0.0, request) for request in requests[:count]], 10_000.0)
    times = [ended_at for _, _, ended_at in simulation.finished]
    return len(times) / max(times)


def simulated(
    requests: list[Request],
    load: float,
    capacity: float,
    seconds: float,
    timeout_s: float,
    num_users: int = 1,
    num_slots: int = NUM_SLOTS,
) -> Outcome:
    """Simulate requests at `load` times the capacity, after a warm-up of the same duration."""
    chooser = random.Random(load)
    arrivals: list[tuple[float, Request]] = []
    at = 0.0
    while (at := at + chooser.expovariate(load * capacity)) < 2 * seconds:
        arrivals.append((at, requests[len(arrivals) % len(requests)]))
    simulation = Simulation(timeout_s, num_users, num_slots)
    simulation.run(arrivals, 2 * seconds + timeout_s)
    counted = {number for number, (at, _) in enumerate(arrivals) if at >= seconds}
    outcome = Outcome(load, seconds, num_sent=len(counted))
    outcome.refusal_s = [0.0 for number in simulation.refused if number in counted]
    for number, is_in_time, _ in simulation.finished:
        if number in counted:
            outcome.num_in_time += is_in_time
            outcome.num_too_late += not is_in_time
    return outcome
