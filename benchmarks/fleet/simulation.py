"""Many chats on a fleet, in virtual time."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Sequence

import msgspec

from benchmarks.fleet.chats import MAX_TOKEN, Chat, Chats, Habits
from benchmarks.fleet.simulated_worker import MAX_CONTEXT, SimulatedWorker, Speed
from cactus_actors.api.params import resolve_options
from cactus_actors.config import RouterSettings
from cactus_actors.protocol.block_hashes import BLOCK_SIZE, block_hashes
from cactus_actors.protocol.messages import Finished, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.results import Result
from cactus_actors.protocol.worker_messages import CloudRequest
from cactus_actors.router.core import RouterCore
from cactus_actors.router.effects import Effect, PrepareRequest, SendClient, SendWorker
from cactus_actors.router.state.prepared_request import PreparedRequest
from cactus_actors.router.state.service_facts import ServiceFacts

TICK_S = 0.05


class Fleet(msgspec.Struct, frozen=True, kw_only=True):
    """The simulated fleet: this number of chats at any time, for `seconds` including the warm-up.

    Each worker has `slots` sequences and `blocks` of cache.
    """

    workers: int
    chats_per_slot: float
    seconds: float
    warm_up_s: float
    slots: int = 16
    blocks: int = 2048
    seed: int = 1


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """Shares: `held` of turns after the first whose chat some worker still had in its cache; `returned` of these that
    went to such a worker; `cached` of the tokens of prompts; `busy` of the slots. Times to first token are in
    milliseconds.
    """

    turns: int
    held: float
    returned: float
    cached: float
    busy: float
    first_token_mean_ms: float
    first_token_p50_ms: float
    first_token_p99_ms: float
    tokens_per_second: float


class Simulation:
    """The clock and the queue of events."""

    def __init__(self, fleet: Fleet, habits: Habits, speed: Speed) -> None:
        self._fleet = fleet
        self._now = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._chats = Chats(habits, fleet.seed)
        self._of_job: dict[str, Chat] = {}
        self._num_jobs = 0
        self._results: list[Result] = []
        self._holders: dict[str, set[str]] = {}  # times of arrival of jobs after the first of a chat
        self._num_later = self._num_held = self._num_returned = 0
        self._num_busy = self._num_looked = 0
        settings = RouterSettings(worker_timeout_s=float("inf"), max_queued_jobs=1 << 20, retention_s=1.0)
        self.core = RouterCore(settings, ServiceFacts(epoch=1, started_at=0.0))
        self.workers = {
            f"{number}".encode(): SimulatedWorker(
                f"w{number}", num_slots=fleet.slots, num_blocks=fleet.blocks, speed=speed
            )
            for number in range(fleet.workers)
        }

    def run(self) -> Outcome:
        for identity, worker in self.workers.items():
            self._perform(self.core.on_worker(identity, worker.hello, self._now))
        fleet = self._fleet
        for _ in range(round(fleet.chats_per_slot * fleet.slots * fleet.workers)):
            self._say_later(self._chats.new())
        self._at(0.0, self._tick)
        while self._events and self._events[0][0] < self._fleet.seconds:
            self._now, _, event = heapq.heappop(self._events)
            event()
        return self._outcome()

    def _at(self, time_s: float, event: Callable[[], None]) -> None:
        heapq.heappush(self._events, (time_s, next(self._order), event))

    def _tick(self) -> None:
        self._perform(self.core.on_tick(self._now))
        if self._now >= self._fleet.warm_up_s:
            self._num_looked += 1
            self._num_busy += sum(min(worker.num_sequences, self._fleet.slots) for worker in self.workers.values())
        self._at(self._now + TICK_S, self._tick)

    def _say_later(self, chat: Chat) -> None:
        self._at(self._now + self._chats.pause_s(), lambda: self._say(chat))

    def _say(self, chat: Chat) -> None:
        prompt_ids, num_tokens = self._chats.next_turn(chat)
        if len(prompt_ids) + num_tokens >= MAX_CONTEXT:
            self._say_later(self._chats.new())
            return
        self._num_jobs += 1
        job_id = f"{self._num_jobs:032x}"
        self._of_job[job_id] = chat
        options = Options(max_tokens=num_tokens, seed=chat.number * 31 % MAX_TOKEN, user=f"chat-{chat.number}")
        submit = Submit(job_id=job_id, prompt="", options=options)
        [wanted] = self.core.on_client(b"client", submit, "m", self._now)
        assert isinstance(wanted, PrepareRequest)
        params, policy = resolve_options(options, context_left=MAX_CONTEXT - len(prompt_ids))
        request = CloudRequest(prompt="")
        hashes = block_hashes(prompt_ids)
        prepared = PreparedRequest(prompt_ids, params, policy, request, "simulated", hashes)
        if chat.worker is not None:
            self._holders[job_id] = self._holders_of(hashes[: len(chat.history) // BLOCK_SIZE - 1])
        self._perform(self.core.on_prepared(wanted.job_id, prepared, self._now))

    def _perform(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            match effect:
                case SendWorker(identity, command):
                    self.workers[identity].take(command)
                    self._begin_step(identity)
                case SendClient(_, Finished(job_id=job_id, result=result)):
                    self._on_finished(job_id, result)

    def _begin_step(self, identity: bytes) -> None:
        worker = self.workers[identity]
        if not worker.is_computing and (seconds := worker.begin_step()) is not None:
            self._at(self._now + seconds, lambda: self._end_step(identity))

    def _end_step(self, identity: bytes) -> None:
        report = self.workers[identity].end_step()
        self._perform(self.core.on_worker(identity, report, self._now))
        self._begin_step(identity)

    def _holders_of(self, hashes: Sequence[int]) -> set[str]:
        """Return the workers that hold all these blocks now."""
        return {worker.hello.worker_id for worker in self.workers.values() if worker.held.issuperset(hashes)}

    def _on_finished(self, job_id: str, result: Result) -> None:
        assert result.success, result.error
        chat, holders = self._of_job.pop(job_id), self._holders.pop(job_id, None)
        if self._now >= self._fleet.warm_up_s:
            self._results.append(result)
            if holders is not None:
                self._num_later += 1
                self._num_held += bool(holders)
                self._num_returned += result.worker in holders
        self._chats.answered(chat, result.token_ids, result.worker)
        self._say_later(chat if chat.turns_left > 0 else self._chats.new())

    def _outcome(self) -> Outcome:
        results = self._results
        first_tokens = sorted(result.timings.time_to_first_token_ms for result in results)
        num_prompt_tokens = sum(result.usage.prompt_tokens for result in results)
        num_tokens = sum(result.usage.completion_tokens for result in results)
        num_slots = self._fleet.slots * self._fleet.workers
        return Outcome(
            turns=len(results),
            held=round(self._num_held / self._num_later, 4),
            returned=round(self._num_returned / self._num_held, 4),
            cached=round(sum(result.usage.cached_tokens for result in results) / num_prompt_tokens, 4),
            busy=round(self._num_busy / self._num_looked / num_slots, 4),
            first_token_mean_ms=round(sum(first_tokens) / len(first_tokens), 1),
            first_token_p50_ms=round(first_tokens[len(first_tokens) // 2], 1),
            first_token_p99_ms=round(first_tokens[int(0.99 * len(first_tokens))], 1),
            tokens_per_second=round(num_tokens / (self._fleet.seconds - self._fleet.warm_up_s), 1),
        )
