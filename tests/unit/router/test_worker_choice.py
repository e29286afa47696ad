"""Choice of a worker, prefix index, queue and token log, each alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cactus_actors.protocol.block_hashes import BLOCK_SIZE, block_hashes
from cactus_actors.router.scheduling.free_capacity import NO_CAPACITY, UNLIMITED_BLOCKS, FreeCapacity
from cactus_actors.router.scheduling.job_queue import DrainRate
from cactus_actors.router.scheduling.prefix_index import PrefixIndex
from cactus_actors.router.scheduling.worker_choice import Candidate, WorkerChoice, choose_worker
from cactus_actors.router.state.token_log import TokenLog
from tests.support.router.records import make_worker


def offers(*free_slots: int, num_blocks: int = 100, num_slots: int = 100) -> FreeCapacity:
    """Offers of workers a, b, ... with these numbers of free slots."""
    offered = FreeCapacity()
    for number, slots in enumerate(free_slots):
        offered.put(make_worker("abcdefgh"[number], number, num_slots), slots, num_blocks)
    return offered


def prefixes(**held: int) -> PrefixIndex:
    """Workers hold these numbers of leading blocks of the prompt 1, 2, 3, ..."""
    index = PrefixIndex()
    for worker_id, num_blocks in held.items():
        index.update(worker_id, range(1, num_blocks + 1), ())
    return index


def prompt(num_blocks: int = 10) -> Candidate:
    return Candidate(range(1, num_blocks + 1), num_blocks)


def other(num_blocks: int = 1) -> Candidate:
    """A prompt that is in no cache."""
    return Candidate(range(1001, 1001 + num_blocks), num_blocks)


def test_without_prefixes_jobs_are_dispatched_in_order() -> None:
    assert choose_worker([other(), other()], offers(1), prefixes()) == WorkerChoice(0, "a", 0)


def test_without_jobs_or_capacity_there_is_no_choice() -> None:
    assert choose_worker([], offers(1), prefixes()) is None
    assert choose_worker([other()], FreeCapacity(), prefixes()) is None


def test_without_a_prefix_the_emptiest_worker_is_chosen() -> None:
    assert choose_worker([other()], offers(1, 5), prefixes(a=9)) == WorkerChoice(0, "b", 0)
    assert choose_worker([other()], offers(5, 5), prefixes()) == WorkerChoice(0, "a", 0)


def test_two_cached_blocks_outweigh_one_free_slot() -> None:
    """The emptiest worker holds 2 of 9 blocks: the other one may have 3 free slots less, for 7 more blocks."""
    assert choose_worker([prompt()], offers(7, 4), prefixes(a=2, b=9)) == WorkerChoice(0, "b", 9)
    assert choose_worker([prompt()], offers(7, 3), prefixes(a=2, b=9)) == WorkerChoice(0, "a", 2 - 7)
    assert choose_worker([prompt()], offers(7, 6), prefixes(b=1)) == WorkerChoice(0, "a", -1)


def test_a_prefix_outweighs_at_most_half_of_the_slots() -> None:
    assert choose_worker([prompt(90)], offers(16, 8, num_slots=16), prefixes(b=90)) == WorkerChoice(0, "b", 90)
    assert choose_worker([prompt(90)], offers(16, 7, num_slots=16), prefixes(b=90)) == WorkerChoice(0, "a", -90)


def test_the_emptiest_of_workers_with_the_same_prefix_is_chosen() -> None:
    assert choose_worker([prompt()], offers(7, 6, 5), prefixes(b=4, c=4)) == WorkerChoice(0, "b", 4)


def test_the_job_with_the_longest_prefix_is_first_and_one_cached_elsewhere_last() -> None:
    near, far = prompt(), Candidate([*range(1, 3), *range(51, 59)], 10)
    index = prefixes(a=2)
    index.update("z", far.block_hashes, ())
    assert choose_worker([other(), near], offers(1), index) == WorkerChoice(1, "a", 2)
    assert choose_worker([far, other()], offers(1), index) == WorkerChoice(1, "a", 0)
    assert choose_worker([far], offers(1), index) == WorkerChoice(0, "a", 2 - 8)


def test_a_worker_needs_enough_free_blocks() -> None:
    assert choose_worker([other(200)], offers(1), prefixes()) is None
    assert choose_worker([other(200)], offers(1, num_blocks=UNLIMITED_BLOCKS), prefixes()) == WorkerChoice(0, "a", 0)
    assert choose_worker([other(200), other()], offers(1), prefixes()) == WorkerChoice(1, "a", 0)
    mixed = offers(3)
    mixed.put(make_worker("large", 9), 1, 300)
    assert choose_worker([other(200)], mixed, prefixes()) == WorkerChoice(0, "large", 0)
    assert choose_worker([prompt(200)], mixed, prefixes(a=150)) == WorkerChoice(0, "large", -150)


OFFERS = st.one_of(st.none(), st.tuples(st.integers(-1, 3), st.integers(0, 3)))


@given(st.lists(st.tuples(st.sampled_from("abc"), OFFERS)), st.integers(0, 3))
def test_the_best_offer_equals_that_of_a_full_search(
    changes: list[tuple[str, tuple[int, int] | None]], num_blocks: int
) -> None:
    workers = {name: make_worker(name, number) for number, name in enumerate("cab")}
    offered, all_of_them = FreeCapacity(), {}
    for name, offer in changes:
        if offer is None:
            offered.drop(workers[name])
            all_of_them.pop(name, None)
        else:
            offered.put(workers[name], *offer)
            all_of_them[name] = offer
    fitting = {name: slots for name, (slots, blocks) in all_of_them.items() if blocks >= num_blocks}
    assert len(offered) == len(all_of_them)
    assert offered.has_blocks(num_blocks) == bool(fitting)
    for name in "abc":
        assert offered.num_slots(name, num_blocks) == fitting.get(name, NO_CAPACITY)
    if fitting:
        emptiest = min(fitting, key=lambda name: (-fitting[name], workers[name].number))
        assert offered.emptiest(num_blocks) == emptiest


@given(st.lists(st.integers(0, 3), max_size=80), st.lists(st.integers(0, 3), max_size=80))
def test_block_hashes_are_equal_up_to_the_first_different_block(left: list[int], right: list[int]) -> None:
    common = next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))
    equal = [a == b for a, b in zip(block_hashes(left), block_hashes(right), strict=False)]
    assert equal == [block < common // BLOCK_SIZE for block in range(len(equal))]


def test_the_index_finds_leading_blocks_of_each_worker() -> None:
    index = prefixes(a=3, b=1)
    assert index.longest([1, 2, 9]) == (2, ["a"])
    assert index.longest([1, 8, 9]) == (1, ["a", "b"])
    assert index.longest([9, 2, 3]) == (0, [])
    assert index.longest([1, 2, 3], lambda worker_id: worker_id == "b") == (1, ["b"])
    assert index.longest([1, 2, 3], lambda _: False) == (0, [])
    assert index.longest([]) == (0, [])


def test_the_index_forgets_evicted_blocks_and_lost_workers() -> None:
    index = prefixes(a=3, b=2)
    index.update("a", [], [2, 3, 99])
    assert index.longest([1, 2, 3]) == (2, ["b"])
    index.forget("b")
    assert index.longest([1, 2, 3]) == (1, ["a"])
    index.update("a", [], [1])
    assert len(index) == 0
    assert index.longest([1, 2, 3]) == (0, [])


@given(st.dictionaries(st.sampled_from("abc"), st.integers(0, 20)), st.integers(0, 20))
def test_the_longest_prefix_equals_that_of_a_full_search(held: dict[str, int], length: int) -> None:
    known = {worker_id: min(length, num_blocks) for worker_id, num_blocks in held.items()}
    longest = max(known.values(), default=0)
    holders = [worker_id for worker_id in held if known[worker_id] == longest] if longest else []
    assert prefixes(**held).longest(range(1, length + 1)) == (longest, holders)


def test_the_drain_rate_covers_the_last_seconds() -> None:
    rate = DrainRate()
    for step in range(1000):
        rate.count(step * 0.05)
    assert rate.read(50.0) == pytest.approx(20, rel=0.05)
    assert rate.read(150.0) < 0.01


@given(st.lists(st.text(max_size=3), min_size=1, max_size=12), st.data())
def test_repeated_parts_do_not_change_a_token_log(texts: list[str], data: st.DataObject) -> None:
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
