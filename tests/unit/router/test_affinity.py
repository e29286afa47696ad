"""Chats on a fleet in virtual time: turns return to the worker that holds their prefix."""

from __future__ import annotations

import copy

import pytest

from benchmarks.fleet.chats import Habits
from benchmarks.fleet.simulated_worker import Speed
from benchmarks.fleet.simulation import Fleet, Outcome, Simulation

SHORT = Habits(pause_s=2.0, answer_tokens=40, said_tokens=40)


def simulation(workers: int, chats_per_slot: float, **changes: int) -> Simulation:
    fleet = Fleet(workers=workers, chats_per_slot=chats_per_slot, seconds=12.0, warm_up_s=4.0, slots=4, **changes)
    return Simulation(fleet, SHORT, Speed())


def outcome(workers: int, chats_per_slot: float) -> Outcome:
    return simulation(workers, chats_per_slot).run()


@pytest.mark.parametrize("workers", [2, 4, pytest.param(16, marks=pytest.mark.slow)])
def test_nine_turns_of_ten_return_to_the_worker_that_holds_their_chat(workers: int) -> None:
    seen = outcome(workers, 2.0)
    assert seen.held >= 0.9
    assert seen.returned >= 0.9
    assert seen.cached >= 0.75


def test_the_prefix_index_equals_the_contents_of_small_caches() -> None:
    run = simulation(3, 3.0, blocks=180)
    seen = run.run()
    assert seen.held < 0.9, "blocks were evicted"
    index = run.core.state.fleets.first.dispatcher.prefixes
    assert len(index) == sum(len(worker.held) for worker in run.workers.values())
    emptied = copy.deepcopy(index)
    for worker in run.workers.values():
        emptied.update(worker.hello.worker_id, stored=(), evicted=worker.held)
    assert len(emptied) == 0


def test_workers_at_their_limit_answer_all_jobs() -> None:
    seen = outcome(4, 8.0)
    assert seen.busy > 0.95
    assert seen.first_token_p50_ms < 2500
