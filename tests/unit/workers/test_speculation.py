"""Drafts: their source, their number, the rows and blocks that they use, and their verification."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import Dispatch, Finish, SequenceDelta
from cactus_actors.workers.engine.block_pool import BlockPool
from cactus_actors.workers.engine.detokenizer import Detokenizer
from cactus_actors.workers.engine.engine import Engine
from cactus_actors.workers.engine.kv_cache import KVCache
from cactus_actors.workers.engine.options import EngineLimits, TextOptions
from cactus_actors.workers.engine.scheduler import Counters, Schedule, Scheduler
from cactus_actors.workers.engine.sequence import Sequence
from cactus_actors.workers.engine.speculation import (
    MAX_BACKOFF_TOKENS,
    UNKNOWN_ROW_COST,
    Drafter,
    StepCost,
    best_draft_counts,
    prompt_lookup,
)
from cactus_actors.workers.engine.step_batch import Batch
from tests.support.models.fake_model import FakeModel

LOOP = (10, 11, 12, 13, 14)
END_ID = 40


def drafts_of(*token_ids: int, limit: int = 4) -> list[int]:
    return prompt_lookup(np.array(token_ids, dtype=np.int32), limit).tolist()


def searched(token_ids: list[int], limit: int) -> list[int]:
    """The definition of a draft, computed literally."""
    for size in (4, 3, 2):
        for start in range(len(token_ids) - size - 1, -1, -1):
            if token_ids[start : start + size] == token_ids[-size:]:
                said = list(token_ids)
                for index in range(start + size, start + size + limit):
                    said.append(said[index])
                return said[len(token_ids) :]
    return []


def test_drafts_are_the_tokens_after_an_earlier_match() -> None:
    assert drafts_of(1, 2, 3, 4, 5, 6, 9, 1, 2, 3) == [4, 5, 6, 9]
    assert drafts_of(1, 2, 3, 4, 5, 6, 9, 1, 2, 3, limit=2) == [4, 5]


def test_the_latest_of_the_longest_matches_is_used() -> None:
    assert drafts_of(1, 2, 3, 50, 2, 3, 60, 1, 2, 3, limit=1) == [50]
    assert drafts_of(1, 2, 3, 50, 1, 2, 3, 60, 1, 2, 3, limit=1) == [60]


def test_drafts_continue_a_repetition() -> None:
    assert drafts_of(7, 7, 7, limit=3) == [7, 7, 7]
    assert drafts_of(1, 2, 1, 2, limit=5) == [1, 2, 1, 2, 1]


@pytest.mark.parametrize("token_ids", [(), (1,), (1, 1), (1, 2, 3, 1), (1, 2, 3, 4)])
def test_nothing_is_drafted_without_an_earlier_pair(token_ids: tuple[int, ...]) -> None:
    assert drafts_of(*token_ids) == []


@given(token_ids=st.lists(st.integers(0, 2), max_size=40), limit=st.integers(0, 12))
@settings(max_examples=300, deadline=None)
def test_drafts_equal_those_of_a_linear_search(token_ids: list[int], limit: int) -> None:
    assert drafts_of(*token_ids, limit=limit) == searched(token_ids, limit)


def measured(*steps: tuple[int, float]) -> StepCost:
    cost = StepCost(8)
    for num_rows, seconds in steps:
        cost.on_step(num_rows, seconds)
    return cost


FREE = measured((8, 1.0), (1, 1.0))
FULL_PRICE = measured(*((rows, float(rows)) for rows in range(8, 0, -1)))


def test_the_number_of_drafts_follows_the_cost_of_rows() -> None:
    assert best_draft_counts([(0.6, 20)], 1, 7, FREE) == [7]
    assert best_draft_counts([(0.99, 20)], 1, 7, FULL_PRICE) == [0]
    steps = measured((8, 2.0), (5, 2.0), (4, 1.2), (1, 1.0))  # a fifth row costs as much as an eighth
    assert best_draft_counts([(0.6, 20)], 1, 7, steps) == [3]
    assert best_draft_counts([(0.95, 20)], 1, 7, steps) == [7]
    assert best_draft_counts([(0.6, 2)], 1, 7, steps) == [2]


def test_the_likeliest_drafts_are_chosen_first() -> None:
    assert best_draft_counts([(0.9, 20), (0.3, 20)], 2, 6, FREE) == [6, 0]
    assert best_draft_counts([(0.5, 20), (0.5, 20), (0.5, 20)], 3, 5, FREE) == [2, 2, 1]
    assert best_draft_counts([(0.9, 1), (0.3, 20)], 2, 4, FREE) == [1, 3]
    assert best_draft_counts([], 3, 5, FREE) == []


def test_accepted_drafts_raise_the_probability_and_rejected_ones_lower_it() -> None:
    drafter = Drafter(4)
    chances = [drafter.acceptance_rate]
    for num_accepted in (4, 4, 0, 0, 4):
        drafter.on_result(4, num_accepted)
        chances.append(drafter.acceptance_rate)
    assert chances[0] < chances[1] < chances[2] < 1
    assert chances[2] > chances[3] > chances[4] < chances[5]


def test_useless_drafts_are_tried_less_and_less_often() -> None:
    drafter = Drafter(4)
    tried_at = [num_tokens for num_tokens in range(1000) if drafter.num_wanted(0, num_tokens)]
    gaps = np.diff(tried_at).tolist()
    assert gaps[:8] == [2, 3, 5, 9, 17, 33, 65, 65]
    assert set(gaps[6:]) == {MAX_BACKOFF_TOKENS + 1}
    assert drafter.num_wanted(3, 1000) == 3
    assert drafter.num_wanted(0, 1064) == 1
    assert drafter.num_wanted(0, 1066) == 1  # they have been worthwhile since then


def test_the_cost_of_a_step_is_that_of_similar_steps() -> None:
    cost = measured((4, 9.0), *[(4, 1.0), (1, 0.5)] * 60)
    assert cost.of(4) == pytest.approx(1.0, rel=0.01)
    assert cost.of(1) == pytest.approx(0.5, rel=0.01)
    cost.on_step(4, 1000.0)
    assert cost.of(4) <= 1.2


def test_the_cost_of_an_unmeasured_step_is_estimated_from_its_neighbours() -> None:
    assert measured().of(3) == measured().of(8)
    assert measured((2, 1.0)).of(4) == pytest.approx(1 + 2 * UNKNOWN_ROW_COST)
    assert measured((8, 1.01), (2, 1.0)).of(7) == pytest.approx(1.01, rel=0.01)
    assert measured((8, 90.0), (4, 1.0)).of(8) == 2.0, "one step that was disturbed is not believed"


def test_old_costs_are_measured_again() -> None:
    cost = measured((8, 8.0), *[(1, 1.0)] * 1500)
    assert cost.of(8) < 1.0


class NoBytes:
    def token_bytes(self, token_id: int) -> bytes:
        return b""


class Bench:
    """A scheduler that drafts as if rows were free, over a small pool."""

    def __init__(self, *, blocks: int = 40, token_budget: int = 200, max_drafts: int = 20) -> None:
        self.pool = BlockPool(blocks)
        self.counters = Counters()
        self.max_drafts = max_drafts
        self.scheduler = Scheduler(
            self.pool, self.counters, max_sequences=8, token_budget=token_budget, max_drafts=max_drafts
        )
        self.scheduler.step_cost = FREE
        self.sequences: list[Sequence] = []

    def add(self, prompt_ids: list[int], *, max_tokens: int = 100) -> Sequence:
        params = SamplingParams(max_tokens=max_tokens)
        dispatch = Dispatch(len(self.sequences), "0" * 32, prompt_ids, [], params)
        sequence = Sequence(
            dispatch,
            Detokenizer(NoBytes(), params),
            max_context=200,
            block_size=4,
            max_drafts=self.max_drafts,
        )
        self.sequences.append(sequence)
        self.scheduler.add(sequence)
        return sequence


def shape(schedule: Schedule) -> list[tuple[int, int]]:
    """(tokens, drafts) of every chunk."""
    return [(chunk.num_tokens, chunk.num_drafts) for chunk in schedule.chunks]


def drafting_bench(num_sequences: int, **settings: int) -> Bench:
    """Sequences of 15 tokens in the second round of a loop, each with one token to compute."""
    bench = Bench(**settings)
    for _ in range(num_sequences):
        bench.add([*LOOP, 9, *LOOP, 9, *LOOP[:2]])
    schedule = bench.scheduler.schedule()
    assert shape(schedule) == [(14, 0)] * num_sequences, "prompts fill the step"
    for chunk in schedule.chunks:
        chunk.sequence.append(LOOP[2])
        bench.scheduler.commit(chunk)
    return bench


@pytest.mark.parametrize(
    ("num_sequences", "expected"),
    [(1, [7]), (2, [3, 3]), (3, [2, 2, 1]), (5, [1, 1, 1, 0, 0]), (8, [0] * 8)],
)
def test_free_rows_are_distributed_evenly(num_sequences: int, expected: list[int]) -> None:
    schedule = drafting_bench(num_sequences).scheduler.schedule()
    assert shape(schedule) == [(1, num_drafts) for num_drafts in expected]


def test_unused_rows_go_to_the_next_sequence() -> None:
    bench = drafting_bench(2)
    bench.sequences[0].append(77)
    bench.sequences[0].num_computed_tokens += 1
    assert shape(bench.scheduler.schedule()) == [(1, 0), (1, 6)]


@pytest.mark.parametrize(("token_budget", "expected"), [(16, 7), (6, 5), (2, 1), (1, 0)])
def test_drafts_count_towards_the_token_budget(token_budget: int, expected: int) -> None:
    bench = drafting_bench(1)
    bench.scheduler.token_budget = token_budget
    assert shape(bench.scheduler.schedule()) == [(1, expected)]


def test_the_last_token_is_never_drafted() -> None:
    bench = drafting_bench(1)
    bench.sequences[0].max_tokens = bench.sequences[0].num_completion_tokens + 3
    assert shape(bench.scheduler.schedule()) == [(1, 2)]


def test_drafts_use_only_free_blocks_and_rejected_ones_free_theirs() -> None:
    bench = drafting_bench(2, blocks=9)
    schedule = bench.scheduler.schedule()  # 15 tokens each, in 4 blocks of 4: the ninth block is left
    assert shape(schedule) == [(1, 3), (1, 1)]
    assert bench.pool.num_free == 0
    for chunk in schedule.chunks:
        chunk.sequence.append(50)
        bench.scheduler.commit(chunk)
    assert bench.pool.num_free == 1
    assert bench.counters.preemptions == 0
    assert (bench.counters.draft_tokens, bench.counters.accepted_draft_tokens) == (4, 0)


def test_only_blocks_of_accepted_tokens_are_shared() -> None:
    bench = drafting_bench(1)
    (chunk,) = bench.scheduler.schedule().chunks
    sequence = chunk.sequence
    assert sequence.span(15, 22).tolist() == [13, 14, 9, 10, 11, 12, 13]
    sequence.append(13)
    sequence.append(55)  # the second draft was wrong, in the block after
    bench.scheduler.commit(chunk, 1)
    known = [*LOOP, 9, *LOOP, 9, *LOOP[:4]]
    for num_known, last in ((4, 14), (3, 55)):
        other = bench.add([*known[: 4 * num_known], last, 1, 2, 3])
        assert len(bench.pool.find_prefix(other.block_hashes(num_known + 1))) == num_known


class LoopModel(FakeModel):
    """Counts from 10 to 14 again and again; from position `leaves_at` on it counts beyond 14."""

    def __init__(self, leaves_at: int = 200, breaks_at: int = 200) -> None:
        super().__init__(vocab_size=64)
        self.leaves_at, self.breaks_at = leaves_at, breaks_at

    def forward(self, batch: Batch, cache: KVCache) -> NDArray[np.float32]:
        last, positions = batch.token_ids[batch.logit_rows], batch.positions[batch.logit_rows]
        best = np.where((last == 14) & (positions < self.leaves_at), 10, (last + 1) % 64)
        logits = np.zeros((last.size, 64), dtype=np.float32)
        logits[np.arange(last.size), best] = 9.0
        logits[positions == self.breaks_at] = np.nan
        return logits


class LetterTokenizer:
    """Token 10 is "a"."""

    def token_bytes(self, token_id: int) -> bytes:
        return bytes([97 + (token_id - 10) % 26])


def run(max_drafts: int, model: LoopModel | None = None, end_id: int = END_ID, **params: object) -> list[SequenceDelta]:
    engine = Engine(
        model or LoopModel(),
        TextOptions(LetterTokenizer(), [end_id]),
        EngineLimits(cache_blocks=50, block_size=4, max_drafts=max_drafts, max_step_s=math.inf),
    )
    options = {"max_tokens": 20, **params}
    engine.add(Dispatch(1, "0" * 32, [*LOOP, *LOOP], [], SamplingParams(**options)))  # type: ignore[arg-type]
    deltas = []
    while engine.has_work:
        deltas += engine.step()
    assert engine.free_blocks == 50
    return deltas


def joined(deltas: list[SequenceDelta]) -> tuple[list[int], list[str], Finish | None]:
    """Token ids, the text of each token, and the finish."""
    token_ids: list[int] = []
    texts: list[str] = []
    for delta in deltas:
        assert delta.position == len(token_ids)
        assert len(delta.entropies) == len(delta.logprobs) == len(delta.token_ids)
        token_ids += delta.token_ids
        bounds = [0, *delta.cuts, len(delta.text)]
        assert len(bounds) == max(2, len(delta.token_ids) + 1)
        texts += [delta.text[start:stop] for start, stop in pairwise(bounds)]
    return token_ids, texts, deltas[-1].finish


def test_accepted_tokens_are_in_one_delta_with_the_text_of_each() -> None:
    deltas = run(4)
    assert [len(delta.token_ids) for delta in deltas[:2]] == [1, 5]
    assert (deltas[1].text, deltas[1].cuts) == ("bcdea", [1, 2, 3, 4])
    assert joined(deltas) == joined(run(0))


@pytest.mark.parametrize(
    ("params", "num_tokens", "finish"),
    [
        ({}, 20, Finish("length")),
        ({"max_tokens": 8}, 8, Finish("length")),
        ({"stop": ("dea",)}, 6, Finish("stop", stop_match="dea")),
        ({"stop": ("dea",), "include_stop_sequences": True}, 6, Finish("stop", stop_match="dea")),
        ({"stop": ("dea",), "min_tokens": 8}, 11, Finish("stop", stop_match="dea")),
        ({"end_id": 13}, 4, Finish("stop", stop_match=13)),
        ({"end_id": 13, "ignore_eos": True}, 20, Finish("length")),
        ({"model": LoopModel(leaves_at=16)}, 20, Finish("length")),
        ({"model": LoopModel(leaves_at=16), "end_id": 17}, 13, Finish("stop", stop_match=17)),
    ],
)
def test_a_sequence_ends_at_the_same_token_for_the_same_reason(
    params: dict[str, object], num_tokens: int, finish: Finish
) -> None:
    alone = joined(run(0, **params))  # type: ignore[arg-type]
    assert (len(alone[0]), alone[2]) == (num_tokens, finish)
    for max_drafts in (1, 3, 7):
        assert joined(run(max_drafts, **params)) == alone  # type: ignore[arg-type]


def test_min_tokens_masks_the_end_token_at_each_drafted_position() -> None:
    alone = joined(run(0, end_id=13, min_tokens=7))
    assert alone[0][:3] == [10, 11, 12]
    assert alone[0][3] != 13
    assert joined(run(5, end_id=13, min_tokens=7)) == alone


def test_a_row_that_is_not_finite_ends_the_sequence_after_the_tokens_before_it() -> None:
    deltas = run(4, LoopModel(breaks_at=13))
    assert [delta.token_ids for delta in deltas] == [[10], [11, 12, 13]]
    assert joined(deltas)[0] == [10, 11, 12, 13]
    assert deltas[-1].finish is not None
    assert deltas[-1].finish.error is not None
    assert deltas[-1].finish.error.type == "model_error"
