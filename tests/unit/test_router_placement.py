"""Placement, prefixes, the queue and the token log, each alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.dispatch.placement import Candidate, Vacancy, place
from router.dispatch.prefix_index import BLOCK_SIZE, PrefixIndex, block_hashes
from router.dispatch.queue import DrainRate
from router.jobs.token_log import TokenLog


def vacancy(worker_id: str, free_slots: int = 1, **fields: object) -> Vacancy:
    defaults: dict[str, object] = {"free_blocks": 100, "has_deck": False, "is_idle": False}
    return Vacancy(worker_id, free_slots, **{**defaults, **fields})  # type: ignore[arg-type]


def candidates(*waited: float, num_blocks: int = 1) -> list[Candidate]:
    return [Candidate(str(index), num_blocks, seconds) for index, seconds in enumerate(waited)]


def nothing_cached(worker_id: str, index: int) -> int:
    return 0


def test_first_come_first_served_without_prefixes() -> None:
    assert place([vacancy("a")], candidates(0.3, 0.2, 0.1), nothing_cached) == ("a", 0)


def test_nothing_to_place_or_nowhere_to_go() -> None:
    assert place([vacancy("a")], [], nothing_cached) is None
    assert place([], candidates(0.0), nothing_cached) is None
    assert place([vacancy("a", 0)], candidates(0.0), nothing_cached) is None


def test_the_emptiest_worker_is_served_first_whatever_is_cached_elsewhere() -> None:
    workers = [vacancy("a", 1), vacancy("b", 5)]
    assert place(workers, candidates(0.0), lambda worker_id, _: 9 * (worker_id == "a")) == ("b", 0)


def test_among_equally_empty_workers_the_prefix_decides() -> None:
    workers = [vacancy("a", 3), vacancy("b", 3)]
    assert place(workers, candidates(0.0), lambda worker_id, _: 9 * (worker_id == "b")) == ("b", 0)


def test_the_longest_prefix_overtakes_until_the_first_has_waited_long_enough() -> None:
    def cached(worker_id: str, index: int) -> int:
        return index

    assert place([vacancy("a")], candidates(1.9, 1.0, 0.0), cached) == ("a", 2)
    assert place([vacancy("a")], candidates(2.0, 1.0, 0.0), cached) == ("a", 0)


def test_a_job_needs_its_blocks_unless_the_worker_is_idle() -> None:
    large = candidates(0.0, num_blocks=200)
    assert place([vacancy("a")], large, nothing_cached) is None
    assert place([vacancy("a", is_idle=True)], large, nothing_cached) == ("a", 0)
    mixed = [*large, Candidate("small", 1, 0.0)]
    assert place([vacancy("a")], mixed, nothing_cached) == ("a", 1)


def test_a_free_slot_is_better_than_the_deck() -> None:
    workers = [vacancy("a", 0, has_deck=True), vacancy("b", 1)]
    assert place(workers, candidates(0.0), nothing_cached) == ("b", 0)
    assert place(workers[:1], candidates(0.0), nothing_cached) == ("a", 0)


@given(st.lists(st.integers(0, 3), max_size=80), st.lists(st.integers(0, 3), max_size=80))
def test_block_hashes_are_equal_exactly_as_far_as_the_prompts_are(left: list[int], right: list[int]) -> None:
    common = next(
        (i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right))
    )
    equal = [a == b for a, b in zip(block_hashes(left), block_hashes(right), strict=False)]
    assert equal == [block < common // BLOCK_SIZE for block in range(len(equal))]


def test_the_index_knows_leading_blocks_of_each_worker() -> None:
    index = PrefixIndex()
    index.record("a", [1, 2, 3])
    assert index.num_cached("a", [1, 2, 9]) == 2
    assert index.num_cached("a", [9, 2, 3]) == 0
    assert index.num_cached("b", [1, 2, 3]) == 0
    index.forget("a")
    assert index.num_cached("a", [1, 2, 3]) == 0
    assert len(index) == 0


def test_the_index_forgets_what_was_not_used_for_longest() -> None:
    index = PrefixIndex(max_entries=3)
    index.record("a", [1, 2, 3])
    index.record("a", [1])
    index.record("a", [4])
    assert len(index) == 3
    assert index.num_cached("a", [1]) == 1
    assert index.num_cached("a", [2]) == 0


def test_the_drain_rate_is_that_of_the_last_seconds() -> None:
    rate = DrainRate()
    for step in range(1000):
        rate.count(step * 0.05)
    assert rate.read(50.0) == pytest.approx(20, rel=0.05)
    assert rate.read(150.0) < 0.01


@given(st.lists(st.text(max_size=3), min_size=1, max_size=12), st.data())
def test_a_log_is_the_same_however_often_its_parts_arrive(texts: list[str], data: st.DataObject) -> None:
    log = TokenLog()
    while len(log) < len(texts):
        start = data.draw(st.integers(0, len(log)))
        stop = data.draw(st.integers(start + 1, len(texts)))
        ids = list(range(start, stop))
        values = [float(token_id) for token_id in ids]
        new_text = "".join(texts[max(start, len(log)) : stop])
        assert log.extend(start, ids, new_text, values, values, 1.0)
    assert log.token_ids == list(range(len(texts)))
    assert list(log.entropies) == [float(token_id) for token_id in range(len(texts))]
    assert log.text == "".join(texts)
    assert not log.extend(len(texts) + 1, [0], "gap", [0.0], [0.0], 1.0)
    cut = data.draw(st.integers(0, len(texts)))
    assert log.delta("j", 0, cut).text + log.delta("j", cut, len(log)).text == log.text
