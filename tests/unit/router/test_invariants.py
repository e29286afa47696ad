"""Any events in any order: guarantees 2 and 3, and the consistency of all counters."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from cactus_actors.protocol.errors import ModelFailure
from cactus_actors.protocol.messages import Accepted, Cancel, Delta, Fetch, Finished, Resume
from cactus_actors.protocol.worker_messages import Draining, Finish, Goodbye
from tests.support.fuzzing.judging import fuzzed
from tests.support.router.core_harness import CLIENT, RouterHarness, job_id
from tests.support.router.walk import check_that_nobody_gives_way, walk
from tests.support.router.worker_messages import SURE, UNSURE, Worker, make_delta

MAX_TOKENS = 24
ALPHABET = "abcdefghijklmnopqrstuvwxyz"
ENTROPIES = st.sampled_from([SURE, UNSURE])


def letters(position: int, count: int) -> str:
    """The output of every attempt: the letter encodes its position."""
    return "".join(ALPHABET[(position + offset) % 26] for offset in range(count))


class Follower:
    """A client of one stream by the protocol's rules: it drops known tokens and resumes at a gap."""

    def __init__(self) -> None:
        self.next_index = 0
        self.token_ids: list[int] = []
        self.text = ""

    def take(self, delta: Delta) -> bool:
        """False at a gap."""
        if delta.index > self.next_index:
            return False
        if delta.index < self.next_index or not delta.token_ids:
            return True
        self.next_index += len(delta.token_ids)
        self.token_ids += delta.token_ids
        self.text += delta.text
        return True


class RouterMachine(RuleBasedStateMachine):
    """Clients, workers and a cloud send any permitted message at any time."""

    @initialize(max_queued_jobs=st.integers(1, 8), on_deck=st.integers(0, 1))
    def start(self, max_queued_jobs: int, on_deck: int) -> None:
        self.router = RouterHarness(max_queued_jobs=max_queued_jobs, on_deck=on_deck, commit_tokens=2)
        self.num_submitted = 0
        self.num_workers = 0
        self.accepted: set[int] = set()
        self.followers: dict[int, Follower] = {}
        self.num_heard = 0
        self.connect("local", 3)
        self.connect("cloud", 3)

    def of_kind(self, kind: str) -> list[Worker]:
        return [worker for worker in self.router.workers.values() if worker.hello.kind == kind]

    def busy(self, kind: str) -> list[tuple[Worker, Any]]:
        return [(worker, dispatch) for worker in self.of_kind(kind) for dispatch in worker.dispatches.values()]

    @rule(
        data=st.data(),
        gated=st.sampled_from([True, True, False]),
        subscribed=st.booleans(),
        private=st.sampled_from([False, False, True]),
    )
    def submit(self, data: st.DataObject, gated: bool, subscribed: bool, private: bool) -> None:
        self.num_submitted += 1
        number = self.num_submitted
        if subscribed:
            self.follow(number)
        reply = self.router.submit(
            number,
            "x" * data.draw(st.integers(1, 60)),
            max_tokens=MAX_TOKENS,
            cloud_handoff_threshold=0.5 * gated,
            allow_cloud=not private,
            priority=data.draw(st.integers(-1, 1)),
            user=data.draw(st.sampled_from(["a", "a", "b", "c"])),
            timeout_ms=data.draw(st.sampled_from([None, 500, 5000])),
        )
        if isinstance(reply, Accepted):
            self.accepted.add(number)

    @precondition(lambda self: len(self.router.workers) < 4)
    @rule(
        kind=st.sampled_from(["local", "local", "cloud"]),
        num_slots=st.integers(1, 3),
        num_blocks=st.sampled_from([64, 8]),
    )
    def connect(self, kind: str, num_slots: int, num_blocks: int = 64) -> None:
        self.num_workers += 1
        self.router.connect(f"w{self.num_workers}", kind=kind, num_slots=num_slots, num_blocks=num_blocks)

    @precondition(lambda self: self.router.workers)
    @rule(
        data=st.data(),
        way=st.sampled_from(["lost", "goodbye", "draining", "hello", "silent"]),
        chance=st.integers(0, 3),
    )
    def lose(self, data: st.DataObject, way: str, chance: int) -> None:
        if chance:
            return
        worker = data.draw(st.sampled_from(list(self.router.workers.values())))
        match way:
            case "lost":
                self.router.lose(worker)
            case "goodbye":
                self.router.say(worker, Goodbye())
            case "draining":
                self.router.say(worker, Draining())
            case "hello":
                self.num_workers += 1
                self.router.connect(worker.hello.worker_id, kind=worker.hello.kind, num_slots=worker.hello.num_slots)
            case "silent":
                self.router.workers = {worker.identity: worker}
                self.router.pass_time(6.0)

    @precondition(lambda self: self.busy("local"))
    @rule(data=st.data(), count=st.integers(1, 8))
    def generate_surely(self, data: st.DataObject, count: int) -> None:
        self.generate(data, SURE, count, False)

    @precondition(lambda self: self.busy("local"))
    @rule(data=st.data(), entropy=ENTROPIES, count=st.integers(1, 8), ends=st.booleans())
    def generate(self, data: st.DataObject, entropy: float, count: int, ends: bool) -> None:
        _, dispatch = data.draw(st.sampled_from(self.busy("local")))
        number = int(dispatch.job_id, 16)
        count = min(count, MAX_TOKENS - len(dispatch.emitted_ids))
        ends = ends or len(dispatch.emitted_ids) + count >= MAX_TOKENS
        finish = Finish("stop") if ends else None
        text = letters(len(dispatch.emitted_ids), count)
        self.router.generate(number, text, entropy=entropy, finish=finish)

    @precondition(lambda self: self.busy("cloud"))
    @rule(data=st.data(), outcome=st.sampled_from(["chunk", "chunk", "end", "fail"]))
    def answer_from_the_cloud(self, data: st.DataObject, outcome: str) -> None:
        worker, dispatch = data.draw(st.sampled_from(self.busy("cloud")))
        number = int(dispatch.job_id, 16)
        if outcome == "fail":
            failure = Finish("error", error=ModelFailure("no").info())
            position = len(dispatch.emitted_ids)
            self.router.report(worker, make_delta(dispatch.dispatch_id, position, "", token_ids=[], finish=failure))
        else:
            finish = Finish("stop", provider="p") if outcome == "end" else None
            self.router.generate(number, "cloud ", kind="cloud", finish=finish)

    @precondition(lambda self: self.busy("local"))
    @rule(data=st.data(), shift=st.integers(-4, 4))
    def repeat_or_skip(self, data: st.DataObject, shift: int) -> None:
        """A worker whose positions are wrong."""
        worker, dispatch = data.draw(st.sampled_from(self.busy("local")))
        position = max(0, len(dispatch.emitted_ids) + shift)
        count = 2 if shift > 0 else min(len(dispatch.emitted_ids) - position, 2)
        if count:
            self.router.report(worker, make_delta(dispatch.dispatch_id, position, letters(position, count)))

    @precondition(lambda self: self.of_kind("cloud"))
    @rule(data=st.data(), unavailable=st.sampled_from([None, "no key", "breaker open"]))
    def tell_availability(self, data: st.DataObject, unavailable: str | None) -> None:
        worker = data.draw(st.sampled_from(self.of_kind("cloud")))
        self.router.report(worker, unavailable=unavailable)

    @precondition(lambda self: self.num_submitted)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        if data.draw(st.integers(0, 3)):
            return
        self.router.client(Cancel(job_id=job_id(data.draw(st.integers(1, self.num_submitted)))), b"other")

    @precondition(lambda self: self.num_submitted)
    @rule(data=st.data())
    def listen(self, data: st.DataObject) -> None:
        self.follow(data.draw(st.integers(1, self.num_submitted)))

    @precondition(lambda self: self.num_submitted)
    @rule(data=st.data(), credit=st.integers(0, 5))
    def resume(self, data: st.DataObject, credit: int) -> None:
        number = data.draw(st.integers(1, self.num_submitted))
        self.follow(number)
        self.catch_up(number, credit)

    @rule(seconds=st.sampled_from([0.5, 1.0, 11.0]))
    def wait(self, seconds: float) -> None:
        self.router.pass_time(seconds)

    def finish_unsurely(self) -> None:
        """Let running jobs end with a confidence that requires the cloud."""
        self.connect("local", 3)
        self.connect("cloud", 3)
        for _ in range(20):
            for _, dispatch in self.busy("local"):
                text = letters(len(dispatch.emitted_ids), MAX_TOKENS - len(dispatch.emitted_ids))
                if self.router.is_running(int(dispatch.job_id, 16)):
                    self.router.generate(int(dispatch.job_id, 16), text, entropy=1.0, finish=Finish("length"))
            for _, dispatch in self.busy("cloud"):
                self.router.generate(int(dispatch.job_id, 16), "cloud", kind="cloud", finish=Finish("stop"))
            self.streams_have_no_gap_no_repeat_and_no_retraction()

    def follow(self, number: int) -> None:
        if number not in self.followers:
            self.followers[number] = Follower()
            self.router.subscribe(number)

    def catch_up(self, number: int, credit: int = 1024) -> None:
        if number not in self.accepted:
            return
        follower = self.followers[number]
        resume = Resume(job_id=job_id(number), next_index=follower.next_index, credit=credit)
        [replay] = self.router.client(resume, b"reader")
        for delta in replay.deltas:
            assert follower.take(delta)

    def hear(self) -> None:
        while self.num_heard < len(self.router.published):
            message = self.router.published[self.num_heard]
            self.num_heard += 1
            if isinstance(message, Delta):
                number = int(message.job_id, 16)
                if not self.followers[number].take(message):
                    self.catch_up(number)

    @invariant()
    def the_books_balance(self) -> None:
        counts = self.router.core.status(self.router.now).jobs
        assert counts.accepted == len(self.accepted)
        ended = counts.finished + counts.failed + counts.cancelled
        assert counts.accepted == counts.queued + counts.running + ended
        assert counts.queued == self.router.core.num_queued
        finished = [reply for _, reply in self.router.replies if isinstance(reply, Finished)]
        assert len({reply.job_id for reply in finished}) == len(finished) == ended
        assert [report.job_id for report in self.router.reports] == [reply.job_id for reply in finished]

    @invariant()
    def every_dispatch_and_every_end_is_counted_once(self) -> None:
        status = self.router.core.status(self.router.now, with_totals=True)
        assert status.totals is not None
        ended = [report.finish_reason for report in self.router.reports]
        assert {reason: ended.count(reason) for reason in status.totals.ended} == status.totals.ended
        over = status.totals.attempts, status.totals.cloud_attempts
        assert status.held.dispatches == sum(self.router.num_dispatches.values()) - sum(
            sum(outcomes.values()) for outcomes in over
        )
        assert sum(over[0].values()) <= self.router.num_dispatches["local"]
        assert sum(over[1].values()) <= self.router.num_dispatches["cloud"]
        assert status.held.live_jobs == status.jobs.queued + status.jobs.running

    @invariant()
    def what_is_counted_is_what_a_walk_over_everything_finds(self) -> None:
        walk(self.router.core, self.router.now)
        self.router.tick()
        walk(self.router.core, self.router.now)
        check_that_nobody_gives_way(self.router.core)

    @invariant()
    def no_worker_holds_more_than_it_can(self) -> None:
        for worker in self.router.workers.values():
            assert len(worker.dispatches) <= worker.hello.num_slots + (worker.hello.kind == "local")
        for seen in self.router.core.status(self.router.now).workers:
            assert seen.free_slots >= 0

    @invariant()
    def a_job_runs_at_most_once_here_and_once_there(self) -> None:
        for kind in ("local", "cloud"):
            running = [dispatch.job_id for _, dispatch in self.busy(kind)]
            assert len(running) == len(set(running))
            for running_id in running:
                assert int(running_id, 16) in self.accepted
                assert not self.router.finished(int(running_id, 16))

    @invariant()
    def streams_have_no_gap_no_repeat_and_no_retraction(self) -> None:
        self.hear()
        for number, follower in self.followers.items():
            for finished in self.router.finished(number):
                assert finished.result.token_ids[: follower.next_index] == follower.token_ids
                assert finished.result.text.startswith(follower.text)

    def teardown(self) -> None:
        if not hasattr(self, "router"):
            return
        self.finish_unsurely()
        self.router.stop()
        self.hear()
        for number in self.accepted:
            [finished] = self.router.finished(number, CLIENT)
            if not any(token_id == 0 for token_id in finished.result.token_ids):
                assert finished.result.text == letters(0, finished.length)
            if number in self.followers:
                self.catch_up(number)
                assert self.followers[number].token_ids == finished.result.token_ids
            assert self.router.client(Fetch(job_id=job_id(number)))[0] == finished
        assert self.router.core.num_unfinished == 0
        assert self.router.core.num_queued == 0


RouterMachine.TestCase.settings = fuzzed(100, derandomize=False, stateful_step_count=40)
TestRouterMachine = RouterMachine.TestCase
