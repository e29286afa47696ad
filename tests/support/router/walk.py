"""A recount of all workers and all jobs, with which the router's counters must agree.

An index that was updated at every change must equal one that is rebuilt from scratch, and must be empty once all
that it counts has left it.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable

import pytest

from cactus_actors.router.core import RouterCore
from cactus_actors.router.scheduling.backlog import Backlog
from cactus_actors.router.scheduling.dispatcher import Dispatcher
from cactus_actors.router.scheduling.free_capacity import UNLIMITED_BLOCKS, FreeCapacity
from cactus_actors.router.scheduling.job_queue import JobQueue, queue_position
from cactus_actors.router.scheduling.model_fleet import ModelFleet
from cactus_actors.router.scheduling.prefix_index import PrefixIndex
from cactus_actors.router.scheduling.user_jobs import UserJobs
from cactus_actors.router.scheduling.worker_choice import HEAD_OF_LINE_AFTER_S, LOOKAHEAD
from cactus_actors.router.scheduling.worker_table import WorkerTable
from cactus_actors.router.state.job import Job
from cactus_actors.router.state.queue_load import QueueLoad
from cactus_actors.router.state.reservation import Reservation
from cactus_actors.router.state.worker import WorkerRecord

STRANGERS = [Reservation("a stranger", 1, QueueLoad(), 1.0, is_background) for is_background in (False, True)]


def walk(core: RouterCore, now: float) -> None:
    """Compare every counter with a recount; no waiting job fits a free slot."""
    for fleet in core.state.fleets:
        dispatcher = fleet.dispatcher
        for worker in dispatcher.workers:
            _check_worker(worker)
        _check_workers(dispatcher.workers, core.state.settings.on_deck)
        live = {number: it for worker in dispatcher.workers for number, it in worker.assignments.items()}
        assert dispatcher.workers.dispatches == live
        _check_queue(dispatcher.queue)
        _check_users(dispatcher.user_jobs, dispatcher.workers, dispatcher.queue)
        _check_prefixes(dispatcher)
        _check_backlog(core, fleet)
        _check_jobs(core, fleet)
        _check_that_nothing_fits(dispatcher, now)


def _check_worker(worker: WorkerRecord) -> None:
    assignments = worker.assignments.values()
    assert worker.num_suspects == sum(it.is_suspect for it in assignments)
    assert all(it.is_suspect == it.job.attempts.is_suspect for it in assignments if worker.is_local)
    assert worker.in_flight.num_sent_blocks == sum(worker.in_flight.sent_blocks)
    assert not worker.num_suspects or len(assignments) == 1, "a suspect runs alone"


def _check_workers(workers: WorkerTable, on_deck: int) -> None:
    everyone = {worker.worker_id: worker for worker in workers}
    taking = {name: worker for name, worker in everyone.items() if not worker.is_draining}
    assert workers.local == {name: it for name, it in taking.items() if it.hello.kind == "local"}
    assert workers.cloud == {name: it for name, it in taking.items() if it.hello.kind == "cloud"}
    assert workers.idle == {name: it for name, it in workers.local.items() if not it.assignments}
    slots, decks = FreeCapacity(), FreeCapacity()
    for worker in workers.local.values():
        if worker.is_reserved or any(it.job.attempts.is_suspect for it in worker.assignments.values()):
            continue
        free_slots = worker.free_slots
        if free_slots > 0:
            slots.put(worker, free_slots, worker.free_blocks if worker.assignments else UNLIMITED_BLOCKS)
        if free_slots + on_deck > 0 and worker.num_not_running < on_deck:
            decks.put(worker, free_slots, UNLIMITED_BLOCKS)
    assert vars(workers.slots) == vars(slots)
    assert vars(workers.decks) == vars(decks)


def _check_queue(queue: JobQueue) -> None:
    jobs = list(queue)
    assert jobs == _in_order(jobs)
    assert all(job in queue for job in jobs)
    assert len(queue._jobs) == len(queue) == len(jobs)


def _in_order(jobs: list[Job]) -> list[Job]:
    """The jobs in the order of the documented rules: sorted by each, the least important first."""
    ordered = sorted(jobs, key=lambda job: job.arrival_index)
    ordered.sort(key=lambda job: job.virtual_start)
    ordered.sort(key=_priority)
    ordered.sort(key=lambda job: job.attempts.is_retry, reverse=True)
    ordered.sort(key=lambda job: job.is_background)
    return ordered


def _priority(job: Job) -> int:
    has_key = bool(job.tenant or job.submission.account)
    return max(0, job.prepared.policy.priority) if has_key else job.prepared.policy.priority


def _check_users(users: UserJobs, workers: WorkerTable, queue: JobQueue) -> None:
    running = [it for worker in workers.local.values() for it in worker.assignments.values() if not it.is_suspect]
    anew = UserJobs()
    for assignment in sorted(running, key=lambda it: it.dispatch_id):
        anew.on_started(assignment)
    for job in queue:
        anew.on_queued(job, queue_position(job))
    apart = {"is_settled": None, "slot_releases": None}
    assert vars(users) | apart == vars(anew) | apart
    assert list(users.several_latest_first) == list(anew.several_latest_first)
    assert list(users.background_latest_first) == list(anew.background_latest_first)
    places = users.slot_releases
    occupants = places._running
    assert occupants.keys() == {it.dispatch_id for it in running if not it.job.is_background}
    left = [work for _, work in occupants.values()]
    assert places._left == sorted(left)
    assert places._total == pytest.approx(sum(left), abs=1e-6)


def _check_prefixes(dispatcher: Dispatcher) -> None:
    emptied = copy.deepcopy(dispatcher.prefixes)
    for worker in dispatcher.workers:
        emptied.forget(worker.worker_id)
    assert vars(emptied) == vars(PrefixIndex())


def _check_backlog(core: RouterCore, fleet: ModelFleet) -> None:
    """Check the waiting jobs, those in preparation, and those that the journal has yet to write."""
    state, dispatcher = core.state, fleet.dispatcher
    reserved = dispatcher.queue._reserved
    pending = [submit for submit in state.pending.values() if state.fleets.of(submit) is fleet]
    jobs = [job for job in state.jobs.live.values() if state.fleets.of(job) is fleet]
    unwritten = [job.job_id for job in jobs if not job.is_accepted]
    assert {submit.job_id: submit.reservation for submit in pending}.items() <= reserved.items()
    assert set(unwritten) <= reserved.keys()
    waiting = [*(job.reservation for job in dispatcher.queue), *reserved.values()]
    assert dispatcher.queue.load == sum_of(one.load for one in waiting)
    assert dispatcher.queue._coming == sum_of(one.load for one in reserved.values())
    backlog, anew = dispatcher.forecast.backlog, Backlog()
    for one in waiting:
        anew.add(one)
    assert backlog.mean == pytest.approx(anew.mean)
    for one in (*waiting, *STRANGERS):
        assert backlog.load_of(one.user) == anew.load_of(one.user)
        assert backlog.ahead_of(one) == pytest.approx(anew.ahead_of(one))
    emptied = copy.deepcopy(backlog)
    for one in waiting:
        emptied.remove(one)
    left = vars(emptied).values()
    assert [value for value in left if (abs(value) > 1e-6 if isinstance(value, float) else value)] == []


def sum_of(loads: Iterable[QueueLoad]) -> QueueLoad:
    total = QueueLoad()
    for load in loads:
        total += load
    return total


def _check_jobs(core: RouterCore, fleet: ModelFleet) -> None:
    live, fleets, dispatcher = core.state.jobs.live, core.state.fleets, fleet.dispatcher
    waiting = [job for job in live.values() if job.is_admitted and job.is_waiting and fleets.of(job) is fleet]
    assert dispatcher.num_waiting == len(waiting) == len(dispatcher.waiting)
    assert all(job in dispatcher.queue or job in dispatcher.quarantine for job in waiting)
    counts = core.state.jobs.counts(core.num_queued)
    assert counts.queued + counts.running == sum(job.is_admitted for job in live.values())
    assert core.state.jobs.ahead == {job_id for job_id, job in live.items() if job.is_admitted and not job.is_accepted}
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
    """Check that no job waits for a slot that it could get by preempting one dispatch; after a tick, which checks
    blocks.
    """
    for fleet in core.state.fleets:
        _check_that_nobody_gives_way(fleet.dispatcher)


def _check_that_nobody_gives_way(dispatcher: Dispatcher) -> None:
    users, open_workers = dispatcher.user_jobs, [it for it in dispatcher.workers.local.values() if it.is_open]
    victims = [it for worker in open_workers for it in worker.assignments.values() if it.job.is_preemptible]
    for job in dispatcher.queue.urgent(LOOKAHEAD):
        for victim in victims:
            if victim.job.is_background or _is_richer(victim.job, job, users):
                assert not _makes_room(victim.worker, victim.job, job)


def _is_richer(owner: Job, newcomer: Job, users: UserJobs) -> bool:
    return users.num_running(newcomer.user) == 0 and users.num_running(owner.user) > 1


def _makes_room(worker: WorkerRecord, victim: Job, job: Job) -> bool:
    """True if there is room without the victim, and none in addition to it."""
    num_left = worker.hello.num_slots - len(worker.assignments)
    num_blocks, num_needed = worker.free_blocks, worker.num_blocks_of(job)
    if num_left > 0 and num_needed <= num_blocks:
        return False
    num_blocks += worker.num_blocks_of(victim)
    return num_left >= 0 and (num_needed <= num_blocks or len(worker.assignments) == 1)
