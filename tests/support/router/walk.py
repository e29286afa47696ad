"""What a router would find by looking at all workers and all jobs: its counters must say the same."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from cactus_actors.router.core import RouterCore
from cactus_actors.router.scheduling.dispatcher import Dispatcher
from cactus_actors.router.scheduling.free_capacity import UNLIMITED_BLOCKS, FreeCapacity
from cactus_actors.router.scheduling.job_queue import JobQueue, queue_position
from cactus_actors.router.scheduling.user_jobs import UserJobs
from cactus_actors.router.scheduling.worker_choice import HEAD_OF_LINE_AFTER_S, LOOKAHEAD
from cactus_actors.router.scheduling.worker_table import WorkerTable
from cactus_actors.router.state.job import Job
from cactus_actors.router.state.queue_load import QueueLoad
from cactus_actors.router.state.worker import WorkerRecord


def walk(core: RouterCore, now: float) -> None:
    """Compare every counter with what it counts; and no job waits that fits."""
    dispatcher = core.state.dispatcher
    for worker in dispatcher.workers:
        _check_worker(worker)
    _check_workers(dispatcher.workers)
    live = {number: it for worker in dispatcher.workers for number, it in worker.assignments.items()}
    assert dispatcher.workers.dispatches == live
    _check_queue(dispatcher.queue)
    _check_users(dispatcher.user_jobs, dispatcher.workers, dispatcher.queue)
    _check_prefixes(dispatcher)
    _check_backlog(core)
    _check_jobs(core)
    _check_that_nothing_fits(dispatcher, now)


def _check_worker(worker: WorkerRecord) -> None:
    assignments = worker.assignments.values()
    assert worker.num_suspects == sum(it.is_suspect for it in assignments)
    assert all(it.is_suspect == it.job.attempts.is_suspect for it in assignments if worker.is_local)
    assert worker.in_flight.num_sent_blocks == sum(worker.in_flight.sent_blocks)
    assert not worker.num_suspects or len(assignments) == 1, "a suspect runs alone"


def _check_workers(workers: WorkerTable) -> None:
    everyone = {worker.worker_id: worker for worker in workers}
    taking = {name: worker for name, worker in everyone.items() if not worker.is_draining}
    assert workers.local == {name: it for name, it in taking.items() if it.hello.kind == "local"}
    assert workers.cloud == {name: it for name, it in taking.items() if it.hello.kind == "cloud"}
    assert workers.idle == {name: it for name, it in workers.local.items() if not it.assignments}
    slots, decks = {}, {}
    for name, worker in workers.local.items():
        if worker.is_reserved or any(it.job.attempts.is_suspect for it in worker.assignments.values()):
            continue
        free_slots = worker.free_slots
        if free_slots > 0:
            slots[name] = (worker, free_slots, worker.free_blocks if worker.assignments else UNLIMITED_BLOCKS)
        if free_slots + workers._on_deck > 0 and worker.num_not_running < workers._on_deck:
            decks[name] = (worker, free_slots, UNLIMITED_BLOCKS)
    _check_offers(workers.slots, slots)
    _check_offers(workers.decks, decks)


def _check_offers(offers: FreeCapacity, expected: dict[str, tuple[WorkerRecord, int, int]]) -> None:
    assert offers._offers == expected
    assert offers._by_slots == sorted((-slots, it.number, name) for name, (it, slots, _) in expected.items())
    assert offers._by_blocks == sorted((blocks, name) for name, (_, _, blocks) in expected.items())


def _check_queue(queue: JobQueue) -> None:
    assert queue._keys == sorted(queue._jobs)
    assert all(queue_position(job) == key for key, job in queue._jobs.items())
    jobs = queue._jobs.values()
    waiting = queue._waiting
    assert waiting.num_jobs == len(jobs)
    assert waiting.num_tokens == sum(job.reservation.load.num_tokens for job in jobs)
    assert waiting.num_bytes == sum(job.reservation.load.num_bytes for job in jobs)


def _check_users(users: UserJobs, workers: WorkerTable, queue: JobQueue) -> None:
    running = {
        it.dispatch_id: it
        for worker in workers.local.values()
        for it in worker.assignments.values()
        if not it.is_suspect
    }
    assert users.background == {number: it for number, it in running.items() if it.job.is_background}
    waiting = {key: job for key, job in queue._jobs.items() if not job.is_background}
    names = {it.job.user for it in running.values()} | {job.user for job in waiting.values()}
    several, newcomers = [], []
    for name in names:
        own = {n: it for n, it in running.items() if it.job.user == name and not it.job.is_background}
        keys = sorted(key for key, job in waiting.items() if job.user == name)
        assert users._running.get(name, {}) == own
        assert list(users._running.get(name, {})) == sorted(own), "the latest last"
        assert users._waiting.get(name, []) == keys
        if len(own) > 1:
            several.append((len(own), name))
        if not own and keys:
            newcomers.append(keys[0])
    assert users._several == sorted(several)
    places = users.slot_releases
    assert set(places._running) == {number for own in users._running.values() for number in own}
    assert places._left == sorted(left for _, left in places._running.values())
    assert places._total == pytest.approx(sum(places._left), abs=1e-6)
    assert users._newcomers == sorted(newcomers)
    assert set(users._running) | set(users._waiting) <= names


def _check_prefixes(dispatcher: Dispatcher) -> None:
    index = dispatcher.prefixes
    holders = {(block, name) for block, names in index._holders.items() for name in names}
    assert holders == {(block, name) for name, hashes in index._hashes.items() for block in hashes}
    assert set(index._hashes) <= {worker.worker_id for worker in dispatcher.workers}


def _check_backlog(core: RouterCore) -> None:
    """What waits, what is being prepared, and what the journal is to write first."""
    state, dispatcher = core.state, core.state.dispatcher
    reserved = dispatcher.queue._reserved
    unwritten = [job.job_id for job in state.jobs.live.values() if not job.is_admitted]
    assert {submit.job_id: submit.reservation for submit in state.pending.values()}.items() <= reserved.items()
    assert set(unwritten) <= reserved.keys()
    assert dispatcher.queue._coming == sum_of(one.load for one in reserved.values())
    waiting = [*(job.reservation for job in dispatcher.queue._jobs.values()), *reserved.values()]
    backlog = dispatcher.forecast.backlog
    assert backlog._background == pytest.approx(sum(one.work for one in waiting if one.is_background))
    assert backlog._users.keys() == {one.user for one in waiting}
    for user, known in backlog._users.items():
        own = [one for one in waiting if one.user == user]
        assert known.load == sum_of(one.load for one in own)
        assert known.num_jobs == sum(not one.is_background for one in own)
        assert known.work == pytest.approx(sum(one.work for one in own if not one.is_background))
    users = [known for known in backlog._users.values() if known.num_jobs]
    assert backlog._total == pytest.approx(sum(known.work for known in users))
    assert backlog._total_weight == sum(known.weight for known in users)


def sum_of(loads: Iterable[QueueLoad]) -> QueueLoad:
    total = QueueLoad()
    for load in loads:
        total += load
    return total


def _check_jobs(core: RouterCore) -> None:
    live = core.state.jobs.live
    waiting = [job for job in live.values() if job.is_admitted and job.is_waiting]
    dispatcher = core.state.dispatcher
    assert dispatcher.num_waiting == len(waiting)
    assert all(job in dispatcher.queue or job in dispatcher.quarantine for job in waiting)
    counts = core.state.jobs.counts(dispatcher.num_waiting)
    assert counts.queued + counts.running == sum(job.is_admitted for job in live.values())
    followed = {job_id for _, job_id in core._streams._progress_times}
    for job_id, job in live.items():
        assert job_id in followed or not job.publication.has_progress_scheduled
        assert job.publication.has_progress_scheduled or job_id not in core.state.topics, "who listens is told"


def _check_that_nothing_fits(dispatcher: Dispatcher, now: float) -> None:
    front = dispatcher.queue.first(LOOKAHEAD)
    if front and now - front[0].submission.arrived_at >= HEAD_OF_LINE_AFTER_S:
        front = front[:1]
    for job in front:
        for worker in dispatcher.workers.local.values():
            if worker.is_open and worker.free_slots > 0:
                assert worker.assignments, "an idle worker takes any job"
                assert worker.num_blocks_of(job) > worker.free_blocks


def check_that_nobody_gives_way(core: RouterCore) -> None:
    """Nobody waits for a slot that one dispatch would give way in; after a tick, which looks at blocks."""
    dispatcher = core.state.dispatcher
    users, open_workers = dispatcher.user_jobs, [it for it in dispatcher.workers.local.values() if it.is_open]
    victims = [it for worker in open_workers for it in worker.assignments.values() if it.job.is_preemptible]
    for job in dispatcher.queue.urgent(LOOKAHEAD):
        for victim in victims:
            if victim.job.is_background or _is_richer(victim.job, job, users):
                assert not _makes_room(victim.worker, victim.job, job)


def _is_richer(owner: Job, newcomer: Job, users: UserJobs) -> bool:
    return users.num_running(newcomer.user) == 0 and users.num_running(owner.user) > 1


def _makes_room(worker: WorkerRecord, victim: Job, job: Job) -> bool:
    """Whether there is room without the victim, and none beside it."""
    num_left = worker.hello.num_slots - len(worker.assignments)
    num_blocks, num_needed = worker.free_blocks, worker.num_blocks_of(job)
    if num_left > 0 and num_needed <= num_blocks:
        return False
    num_blocks += worker.num_blocks_of(victim)
    return num_left >= 0 and (num_needed <= num_blocks or len(worker.assignments) == 1)
