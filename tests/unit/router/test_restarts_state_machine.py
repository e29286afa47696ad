"""Routers that die and restart from their journal, tenants that request each other's jobs, late workers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from cactus_actors.protocol.messages import (
    Accepted,
    Cancel,
    Delta,
    Fetch,
    Finished,
    Pending,
    Rejected,
    Replay,
    Resume,
    Submit,
)
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.worker_messages import Finish, Goodbye, Report
from cactus_actors.router.state.caller import Caller
from cactus_actors.router.state.journal_records import WriteAccepted
from tests.support.fuzzing.judging import fuzzed
from tests.support.router.core_harness import RouterHarness, job_id
from tests.support.router.memory_journal import Disk
from tests.support.router.walk import walk
from tests.support.router.worker_messages import make_delta

MAX_TOKENS = 12
ALPHABET = "abcdefghijklmnopqrstuvwxyz"
TENANTS = {name: Caller(name=f"key-{name}", role="client", tenant=name, max_topics=100) for name in ("left", "right")}


def letters(position: int, count: int) -> str:
    """The output of every attempt, under any router."""
    return "".join(ALPHABET[(position + offset) % 26] for offset in range(count))


@dataclass
class Asked:
    """A job as its client knows it; `ended` is its result, which is on disk too."""

    tenant: str
    submit: Submit
    is_accepted: bool = False
    is_cancelled: bool = False
    token_ids: list[int] = field(default_factory=list)
    ended: Finished | None = None

    def take(self, delta: Delta) -> None:
        """Accept tokens of a stream: known ones must be equal, those after a gap are requested later."""
        known = self.token_ids[delta.index :][: len(delta.token_ids)]
        assert delta.token_ids[: len(known)] == known, "a token that was shown has changed"
        if delta.index <= len(self.token_ids):
            self.token_ids += delta.token_ids[len(known) :]


class RestartMachine(RuleBasedStateMachine):
    """Replies to a client remain true under every later router, and for no other client."""

    def __init__(self) -> None:
        super().__init__()
        self.disk = Disk()
        self.jobs: dict[int, Asked] = {}
        self.lost: list[tuple[bytes, Any]] = []  # ended connections, and their dispatches
        self.is_draining = False
        self.begin()

    def begin(self) -> None:
        self.router = RouterHarness(disk=self.disk, max_queued_jobs=50, max_attempts=50)
        self.num_read = self.num_heard = 0
        self.is_draining = False
        self.router.connect("w1", num_slots=2)

    def running(self) -> list[tuple[Any, Any]]:
        return [(w, d) for w in self.router.workers.values() for d in w.dispatches.values()]

    def ask(self, number: int, message: Any, tenant: str | None = None) -> Any:
        """The last reply to `tenant`, its owner by default; None if it must wait."""
        name = self.jobs[number].tenant if tenant is None else tenant
        replies = self.router.client(message, name.encode(), TENANTS[name])
        return replies[-1] if replies else None

    # clients

    @rule(tenant=st.sampled_from(sorted(TENANTS)), prompt=st.text("xyz", min_size=1, max_size=5))
    def submit(self, tenant: str, prompt: str) -> None:
        number = len(self.jobs) + 1
        options = Options(max_tokens=MAX_TOKENS, seed=3, allow_cloud=False)
        self.jobs[number] = Asked(tenant, Submit(job_id=job_id(number), prompt=prompt, options=options))
        reply = self.ask(number, self.jobs[number].submit)
        assert isinstance(reply, Rejected) if self.is_draining else reply is None, "not before it is on disk"

    @precondition(lambda self: self.jobs)
    @rule(data=st.data())
    def submit_again(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(sorted(self.jobs)))
        reply = self.ask(number, self.jobs[number].submit)
        if self.jobs[number].is_accepted:
            assert isinstance(reply, Accepted | Finished)

    @precondition(lambda self: self.jobs)
    @rule(data=st.data(), credit=st.integers(0, 4))
    def resume(self, data: st.DataObject, credit: int) -> None:
        number = data.draw(st.sampled_from(sorted(self.jobs)))
        job = self.jobs[number]
        self.router.core.on_subscribed(job_id(number), self.router.now, TENANTS[job.tenant])
        reply = self.ask(number, Resume(job_id=job_id(number), next_index=0, credit=credit))
        if isinstance(reply, Replay):
            for delta in reply.deltas:
                self.see(delta)
        elif job.is_accepted:
            raise AssertionError(f"an accepted job is known: {reply}")

    @precondition(lambda self: self.jobs)
    @rule(data=st.data(), chance=st.integers(0, 3))
    def cancel(self, data: st.DataObject, chance: int) -> None:
        number = data.draw(st.sampled_from(sorted(self.jobs)))
        if chance:
            return
        reply = self.ask(number, Cancel(job_id=job_id(number)))
        assert isinstance(reply, Pending if self.jobs[number].is_accepted else Pending | Rejected)
        self.jobs[number].is_cancelled |= isinstance(reply, Pending)

    @precondition(lambda self: any(job.is_accepted for job in self.jobs.values()))
    @rule(data=st.data())
    def ask_for_a_foreign_job(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from([n for n, job in self.jobs.items() if job.is_accepted]))
        name = job_id(number)
        [foreign] = TENANTS.keys() - {self.jobs[number].tenant}
        before = len(self.router.published), len(self.running())
        for message in (Fetch(job_id=name), Resume(job_id=name), Cancel(job_id=name)):
            reply = self.ask(number, message, foreign)
            assert isinstance(reply, Rejected)
            assert reply.error.type == "not_found_error"
        conflict = self.ask(number, self.jobs[number].submit, foreign)
        assert isinstance(conflict, Rejected)
        assert conflict.error.type == "idempotency_conflict"
        is_taken, effects = self.router.core.on_subscribed(name, self.router.now, TENANTS[foreign])
        assert (is_taken, effects) == (False, [])
        assert before == (len(self.router.published), len(self.running()))

    # disk and router

    @rule()
    def write(self) -> None:
        self.router.write_to_disk()

    @rule(chance=st.integers(0, 3))
    def fail_to_write(self, chance: int) -> None:
        if not chance and not any(hasattr(entry, "record") for entry in self.disk.waiting):
            return
        if not chance:
            ends = [entry for entry in self.disk.waiting if entry.__class__.__name__ != "WriteAccepted"]
            self.router.fail_to_write("disk full")
            self.disk.waiting = ends + self.disk.waiting  # they are tried again

    @precondition(lambda self: self.disk.accepted)
    @rule(chance=st.integers(0, 2))
    def kill_now_and_then(self, chance: int) -> None:
        if not chance:
            self.kill_the_router()

    def kill_the_router(self) -> None:
        self.lost += [(worker.identity, dispatch) for worker, dispatch in self.running()]
        for number, job in self.jobs.items():
            if job_id(number) not in self.disk.ended:
                job.ended = None  # a job that died with the router may end in another way
        self.begin()

    @rule(chance=st.integers(0, 5))
    def drain(self, chance: int) -> None:
        if not chance:
            self.router.core.close_admission()
            self.is_draining = True

    # workers

    @precondition(lambda self: len(self.router.workers) < 3)
    @rule(name=st.sampled_from(["w1", "w2", "w3"]), num_slots=st.integers(1, 2))
    def connect(self, name: str, num_slots: int) -> None:
        self.lost += [
            (worker.identity, dispatch) for worker, dispatch in self.running() if worker.hello.worker_id == name
        ]
        self.router.connect(name, num_slots=num_slots)

    @precondition(lambda self: self.router.workers)
    @rule(data=st.data(), says_goodbye=st.booleans())
    def lose(self, data: st.DataObject, says_goodbye: bool) -> None:
        worker = data.draw(st.sampled_from(list(self.router.workers.values())))
        self.lost += [(worker.identity, dispatch) for dispatch in worker.dispatches.values()]
        if says_goodbye:
            self.router.say(worker, Goodbye())
        else:
            self.router.lose(worker)

    @precondition(lambda self: self.lost)
    @rule(data=st.data(), count=st.integers(0, 3), ends=st.booleans())
    def hear_of_a_lost_worker(self, data: st.DataObject, count: int, ends: bool) -> None:
        """Late messages over an ended connection change nothing."""
        identity, dispatch = data.draw(st.sampled_from(self.lost))
        if identity in self.router.workers:
            return
        before = [(worker.identity, d) for worker, d in self.running()], len(self.router.published)
        finish = Finish("stop") if ends else None
        late = make_delta(dispatch.dispatch_id, len(dispatch.emitted_ids), "Z" * count, finish=finish)
        report = Report(num_accepted=1, free_slots=9, free_blocks=64, num_running=0, deltas=[late])
        self.router.hear(identity, report)
        assert before == ([(worker.identity, d) for worker, d in self.running()], len(self.router.published))

    @precondition(lambda self: self.running())
    @rule(data=st.data(), count=st.integers(1, 6), ends=st.booleans())
    def generate(self, data: st.DataObject, count: int, ends: bool) -> None:
        _, dispatch = data.draw(st.sampled_from(self.running()))
        self.go_on(dispatch, count, ends)

    def go_on(self, dispatch: Any, count: int, ends: bool) -> None:
        position = len(dispatch.emitted_ids)
        count = min(count, MAX_TOKENS - position)
        ends = ends or position + count == MAX_TOKENS
        text = letters(position, MAX_TOKENS - position if ends else count)  # all end at the same position
        self.router.generate(int(dispatch.job_id, 16), text, finish=Finish("length") if ends else None)

    @rule()
    def wait(self) -> None:
        self.router.pass_time(0.5)

    # invariants

    @invariant()
    def what_is_counted_is_what_a_walk_over_everything_finds(self) -> None:
        walk(self.router.core, self.router.now)

    @invariant()
    def what_clients_hear_holds(self) -> None:
        for identity, reply in self.router.replies[self.num_read :]:
            job = self.jobs[int(reply.job_id, 16)]
            if isinstance(reply, Accepted | Finished):
                assert identity == job.tenant.encode(), "a reply to a foreign tenant"
            if isinstance(reply, Accepted) and not job.is_cancelled:
                assert reply.job_id in self.disk.accepted, "accepted before it was on disk"
                job.is_accepted = True
            if isinstance(reply, Finished):
                self.compare_end(job, reply)
        self.num_read = len(self.router.replies)
        for message in self.router.published[self.num_heard :]:
            if isinstance(message, Delta):
                self.see(message)
        self.num_heard = len(self.router.published)

    def see(self, delta: Delta) -> None:
        assert delta.job_id in self.disk.accepted, "a token was shown before the job was on disk"
        self.jobs[int(delta.job_id, 16)].take(delta)

    def compare_end(self, job: Asked, finished: Finished) -> None:
        tokens = finished.result.token_ids
        assert not tokens or finished.job_id in self.disk.accepted, "an answer was shown before the job was on disk"
        assert tokens[: len(job.token_ids)] == job.token_ids[: len(tokens)]
        assert finished.result.text == letters(0, len(tokens))
        if job.ended is not None:
            assert finished == job.ended, "a job that ended has ended once"
        job.ended = finished

    @invariant()
    def the_books_balance(self) -> None:
        counts = self.router.core.status(self.router.now).jobs
        num_ended = counts.finished + counts.failed + counts.cancelled
        assert counts.accepted + len(self.router.core.state.jobs.ahead) == counts.queued + counts.running + num_ended

    @invariant()
    def nobody_runs_twice(self) -> None:
        running = [dispatch.job_id for _, dispatch in self.running()]
        assert len(running) == len(set(running))
        unwritten = {entry.job_id for entry in self.disk.waiting if isinstance(entry, WriteAccepted)}
        assert all(job in self.disk.accepted or job in unwritten for job in running)

    def teardown(self) -> None:
        for _ in range(2):  # the second time there are only results
            self.kill_the_router()
            self.router.connect("last", num_slots=2)
            for _ in range(500):
                self.router.write_to_disk()
                self.what_clients_hear_holds()
                if not (running := self.running()):
                    break
                self.go_on(running[0][1], MAX_TOKENS, True)
            for number, job in self.jobs.items():
                if job.is_accepted:
                    reply = self.ask(number, Fetch(job_id=job_id(number)))
                    assert isinstance(reply, Finished), f"an accepted job has no end: {reply}"
            self.router.write_to_disk()
            self.what_clients_hear_holds()
            assert self.router.core.num_unfinished == 0


RestartMachine.TestCase.settings = fuzzed(30)
TestRestartMachine = RestartMachine.TestCase
