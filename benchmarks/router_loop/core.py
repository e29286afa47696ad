"""The router's core alone: it takes frames of workers and encodes frames for clients, without sockets."""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec

from benchmarks.router_loop.fake_worker import BLOCK_SIZE, MAX_CONTEXT, MODEL, FakeWorker, spread_ages
from cactus_actors.api.params import resolve_options
from cactus_actors.config import RouterSettings
from cactus_actors.protocol.block_hashes import block_hashes
from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.wire import (
    decode_submit,
    encode,
    encode_published,
    worker_message_decoder,
)
from cactus_actors.protocol.worker_messages import CloudRequest
from cactus_actors.router.core import RouterCore
from cactus_actors.router.effects import Effect, PrepareRequest, Publish, ReportJob, SendClient, SendWorker
from cactus_actors.router.process.garbage_collection import ShortCollections
from cactus_actors.router.state.prepared_request import PreparedRequest
from cactus_actors.router.state.service_facts import ServiceFacts

PROMPT_TOKENS = 4 * BLOCK_SIZE
NUM_USERS = 50
STEP_S = 0.02
TICK_S = 0.05


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """`sequences` run at each of `workers`, and `waiting` more jobs wait; each has `job_tokens` tokens."""

    workers: int
    sequences: int
    waiting: int
    job_tokens: int
    tokens: int


class CoreCosts(msgspec.Struct, frozen=True, kw_only=True):
    """Microseconds of this process's CPU time.

    `us_per_token` is the cost of all reports of workers: decoding them, the core with the ends
    and dispatches of jobs, and encoding all publications and replies. `us_per_steady_token` is the same for
    rounds in which no job ended. `us_per_submission` is the cost of a new job: the request, the result of its
    preparation, the acceptance; other processes do the preparation. `us_per_tick`, twenty times a
    second, grows with the subscribers of waiting jobs: each gets a progress message every second.
    """

    us_per_token: float
    us_per_steady_token: float | None
    us_per_submission: float
    us_per_tick: float
    tokens: int
    jobs_ended: int


class Meter:
    """CPU time of this process inside the context, and the number of counted events."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.count = 0

    def __enter__(self) -> None:
        self._since = time.process_time()

    def __exit__(self, *_: object) -> None:
        self.seconds += time.process_time() - self._since

    @property
    def microseconds_each(self) -> float:
        return round(1e6 * self.seconds / max(1, self.count), 3)


class CoreBench:
    """A core with all slots taken and a queue of constant length."""

    def __init__(self, load: Load, collections: ShortCollections) -> None:
        self._load = load
        self._collections = collections
        self._now = 0.0
        self._num_submitted = self._num_published = 0
        self.num_ended = 0
        settings = RouterSettings(max_queued_jobs=load.waiting + load.workers * (load.sequences + 1) + 1)
        self._core = RouterCore(settings, ServiceFacts(epoch=1, started_at=0.0))
        self._decode = worker_message_decoder().decode
        [ages] = spread_ages(1, load.sequences)  # jobs of all workers end in the same steps: some steps have no end
        self._workers = {
            f"worker-{number}".encode(): FakeWorker(f"w{number}", load.sequences, ages=ages)
            for number in range(load.workers)
        }
        self.submissions = Meter()
        for identity, worker in self._workers.items():
            self._perform(self._core.on_worker(identity, worker.hello, 0.0))
        self._fill()
        self._round(Meter())  # jobs on deck are sent once the others run
        self._fill()

    def run(self) -> CoreCosts:
        """Run steps of all workers, in turns, until there are enough tokens."""
        everything, steady, ticks = Meter(), Meter(), Meter()
        next_tick, first_ended = 0.0, self.num_ended
        while everything.count < self._load.tokens:
            turn, ended_before = Meter(), self.num_ended
            self._round(turn)
            if self._now >= next_tick:
                next_tick = self._now + TICK_S
                with ticks:
                    self._perform(self._core.on_tick(self._now))
                    self._collections.on_tick(is_at_rest=False)
                ticks.count += 1
            for meter in (everything, steady):
                if meter is everything or self.num_ended == ended_before:
                    meter.seconds += turn.seconds
                    meter.count += turn.count
            self._fill()
        assert self._num_published >= everything.count, "each token is published"
        return CoreCosts(
            us_per_token=everything.microseconds_each,
            us_per_steady_token=steady.microseconds_each if steady.count else None,
            us_per_tick=ticks.microseconds_each,
            us_per_submission=self.submissions.microseconds_each,
            tokens=everything.count,
            jobs_ended=self.num_ended - first_ended,
        )

    def _round(self, meter: Meter) -> None:
        """Run one step of each worker; the workers' own time is not measured."""
        self._now += STEP_S
        frames = []
        for identity, worker in self._workers.items():
            report = worker.report(worker.step())
            meter.count += len(report.deltas)
            frames.append((identity, encode(report)))
        with meter:
            for identity, message in frames:
                self._perform(self._core.on_worker(identity, self._decode(message), self._now))

    def _fill(self) -> None:
        """Submit jobs until the queue has the configured length."""
        while self._core.num_queued < self._load.waiting or not self._all_run():
            submit = self._next_submit()
            self._core.on_subscribed(submit.job_id, self._now)
            with self.submissions:
                [request] = self._core.on_client(b"client", submit, "m", self._now)
            assert isinstance(request, PrepareRequest)
            prepared = _prepared(decode_submit(request.content))
            with self.submissions:
                self._perform(self._core.on_prepared(request.job_id, prepared, self._now))
            self.submissions.count += 1

    def _all_run(self) -> bool:
        return all(worker.num_running == self._load.sequences for worker in self._workers.values())

    def _next_submit(self) -> Submit:
        self._num_submitted += 1
        number = self._num_submitted
        options = Options(max_tokens=self._load.job_tokens, seed=number, user=f"user-{number % NUM_USERS}")
        return Submit(job_id=f"{number:032x}", prompt=_prompt_ids(number), options=options)

    def _perform(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            match effect:
                case Publish(topic, message, encoding):
                    encode_published(topic, message, encoding)
                    self._num_published += 1
                case SendWorker(identity, command):
                    encode(command)
                    self._workers[identity].take(command)
                case SendClient(_, reply, encoding):
                    encode(reply, encoding)
                case ReportJob(report):
                    self.num_ended += 1
                    self._core.on_unsubscribed(report.job_id)


def measure_core(load: Load) -> CoreCosts:
    """Measure the costs per token under this load."""
    with ShortCollections() as collections:  # as the actor does
        return CoreBench(load, collections).run()


def _prompt_ids(number: int) -> list[int | str]:
    return [1000 + number % 50_000] * PROMPT_TOKENS


def _prepared(submit: Submit) -> PreparedRequest:
    assert isinstance(submit.prompt, list)
    ids = [token for token in submit.prompt if isinstance(token, int)]
    params, policy = resolve_options(submit.options, context_left=MAX_CONTEXT - len(ids))
    return PreparedRequest(ids, params, policy, CloudRequest(prompt=""), MODEL, block_hashes(ids))
