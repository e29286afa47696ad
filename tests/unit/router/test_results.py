"""Results of ended jobs: bounded in memory, and read back from the journal if there is one."""

from __future__ import annotations

import pytest

from cactus_actors.protocol.messages import Accepted, Cancel, Fetch, Finished, Pending, Replay, Resume, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.worker_messages import Finish, SequenceExtras
from cactus_actors.router.state.deferred_messages import DeferralLimits
from tests.support.router.core_harness import CLIENT, RouterHarness, job_id
from tests.support.router.memory_journal import Disk

STOP = Finish("stop")
ROOM = 4000
"""Bytes; room for a few results."""


def run(router: RouterHarness, number: int, text: str = "abc", **options: object) -> Finished:
    """Run a job to its end; its records stay in memory until the journal confirms them."""
    router.client(submit(number, **options))
    if router.disk is not None:
        router.write_to_disk()
    router.generate(number, text, finish=STOP)
    [finished] = router.finished(number)
    return finished


def submit(number: int, **options: object) -> Submit:
    return Submit(job_id=job_id(number), prompt="hello", options=Options(seed=number, **options))  # type: ignore[arg-type]


@pytest.fixture
def durable() -> RouterHarness:
    router = RouterHarness(disk=Disk(), max_result_bytes=ROOM)
    router.connect()
    return router


@pytest.fixture
def forgetful() -> RouterHarness:
    router = RouterHarness(max_result_bytes=ROOM)
    router.connect()
    return router


def test_with_a_journal_results_use_bounded_memory_and_are_all_readable(durable: RouterHarness) -> None:
    finished = {number: run(durable, number) for number in range(1, 51)}
    durable.write_to_disk()
    assert durable.core.state.results.num_bytes <= ROOM
    assert durable.recalled == []
    for number, expected in finished.items():
        assert durable.client(Fetch(job_id=job_id(number))) == [expected]
    assert len(durable.recalled) >= 40
    assert durable.core.state.results.num_bytes <= ROOM


def test_a_result_stays_in_memory_until_its_sync(durable: RouterHarness) -> None:
    for number in range(1, 21):
        durable.client(submit(number))
    durable.write_to_disk()
    finished = []
    for number in range(1, 21):
        durable.generate(number, "abc", finish=STOP)
        finished += durable.finished(number)
    assert durable.core.state.results.num_bytes > ROOM
    assert [durable.client(Fetch(job_id=job_id(number)))[0] for number in range(1, 21)] == finished
    assert durable.recalled == []
    durable.write_to_disk()
    assert durable.core.state.results.num_bytes <= ROOM


def test_a_job_read_from_the_journal_equals_the_one_in_memory(durable: RouterHarness) -> None:
    durable.client(submit(1, logprobs=1))
    durable.write_to_disk()
    for letter in "abc":
        likely = SequenceExtras(top=[[(ord(letter), -0.1)]])
        durable.generate(1, letter, finish=STOP if letter == "c" else None, extras=likely)
    [finished] = durable.finished(1)
    resume = Resume(job_id=job_id(1), next_index=1)
    before = [durable.client(message) for message in (resume, submit(1, logprobs=1))]
    for number in range(2, 12):
        run(durable, number)
    durable.write_to_disk()
    assert job_id(1) not in durable.core.state.results
    after = [durable.client(message) for message in (resume, submit(1, logprobs=1))]
    assert durable.recalled == [job_id(1)]
    assert after == before
    [[replay], [accepted, again]] = after
    assert isinstance(accepted, Accepted)
    assert again == finished
    assert isinstance(replay, Replay)
    assert replay.finished == finished
    [delta] = replay.deltas
    assert (delta.index, delta.text, delta.token_ids) == (1, "bc", [98, 99])
    assert finished.result.logprobs is not None
    assert delta.logprobs == finished.result.logprobs[1:]


def test_requests_during_a_read_are_answered_in_order() -> None:
    disk = Disk()
    first = RouterHarness(disk=disk)
    first.connect()
    finished = run(first, 1)
    first.write_to_disk()
    router = SlowDisk(disk=disk)
    assert router.client(Fetch(job_id=job_id(1))) == []
    assert router.client(Resume(job_id=job_id(1)), b"other") == []
    assert router.client(Cancel(job_id=job_id(1)))[0] == Pending(job_id=job_id(1), state="finished", length=3)
    assert router.recalled == [job_id(1)]  # one reading for both
    before = len(router.replies)
    router.read_from_disk()
    assert [receiver for receiver, _ in router.replies[before:]] == [CLIENT, b"other"]
    assert router.replies[before][1] == finished


def test_a_job_forgotten_during_its_read_is_not_found() -> None:
    disk = Disk()
    first = RouterHarness(disk=disk)
    first.connect()
    run(first, 1)
    first.write_to_disk()
    router = SlowDisk(disk=disk, retention_s=5.0)
    router.client(Fetch(job_id=job_id(1)))
    router.pass_silence(10.0)
    router.read_from_disk()
    assert router.replies[-1][1].error.type == "not_found_error"
    assert len(router.core.state.results) == 0


def test_a_result_lost_by_the_journal_is_reported_as_lost(durable: RouterHarness) -> None:
    for number in range(1, 21):
        run(durable, number)
    durable.write_to_disk()
    assert durable.disk is not None
    del durable.disk.ended[job_id(1)]
    [rejected] = durable.client(Fetch(job_id=job_id(1)))
    assert rejected.error.type == "storage_error"


def test_without_a_journal_the_oldest_results_are_dropped_with_an_error(forgetful: RouterHarness) -> None:
    finished = {number: run(forgetful, number) for number in range(1, 21)}
    assert forgetful.core.state.results.num_bytes <= ROOM
    for question in (Fetch(job_id=job_id(1)), Resume(job_id=job_id(1)), submit(1)):
        [rejected] = forgetful.client(question)
        assert (rejected.error.type, rejected.error.status) == ("result_dropped", 410)
    assert forgetful.client(Cancel(job_id=job_id(1)))[0].state == "finished"
    assert forgetful.client(Fetch(job_id=job_id(20))) == [finished[20]]


def test_too_many_reads_of_the_journal_are_refused() -> None:
    disk = Disk()
    first = RouterHarness(disk=disk)
    first.connect()
    run(first, 1)
    first.write_to_disk()
    router = SlowDisk(disk=disk, load_limits=DeferralLimits(in_all=3))
    questions = [Resume(job_id=job_id(1), next_index=index) for index in range(4)]
    answers = [router.client(question) for question in questions]
    assert answers[:3] == [[], [], []]
    assert answers[3][0].error.status == 429
    router.read_from_disk()
    assert router.client(Fetch(job_id=job_id(1)))


class SlowDisk(RouterHarness):
    """A router whose journal reads complete when the test requests it."""

    def _recall(self, job_id: str) -> None:
        self.recalled.append(job_id)

    def read_from_disk(self) -> None:
        assert self.disk is not None
        for name in self.recalled:
            self._take(self.core.on_result_loaded(name, self.disk.read(name), self.now))
