"""Drafts of a head: their number by costs, the rounds of the head, and the rows and blocks that they use."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.typing import NDArray

from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import Dispatch
from cactus_actors.workers.engine.axis_positions import AxisPositions
from cactus_actors.workers.engine.detokenizer import Detokenizer
from cactus_actors.workers.engine.engine import Engine
from cactus_actors.workers.engine.head_drafter import HeadDrafter, best_counts
from cactus_actors.workers.engine.kv_cache import KVCache
from cactus_actors.workers.engine.model import DraftRows, Guesses
from cactus_actors.workers.engine.options import EngineLimits, TextOptions
from cactus_actors.workers.engine.sequence import Sequence
from cactus_actors.workers.engine.speculation import StepCost
from cactus_actors.workers.engine.step_batch import Batch
from tests.support.models.fake_model import FakeModel
from tests.support.models.sampler_cases import NoBytes

VOCAB = 64


def measured(*steps: tuple[int, float], unknown: float = 1.0) -> StepCost:
    cost = StepCost(8, unknown=unknown)
    for num_rows, seconds in steps:
        cost.on_step(num_rows, seconds)
    return cost


FLAT = measured((8, 1.0), (1, 1.0))
FREE = measured(unknown=0.0)


def test_drafts_fill_the_rows_if_rounds_are_free() -> None:
    assert best_counts([(0.9, 7)], 1, 7, FLAT, FREE) == [7]
    assert best_counts([(0.9, 7), (0.9, 7)], 2, 6, FLAT, FREE) == [3, 3]


def test_a_round_must_pay_for_itself() -> None:
    tenth, half = measured((1, 0.1), (8, 0.1)), measured((1, 0.5), (8, 0.5))
    assert best_counts([(0.6, 7)], 1, 7, FLAT, tenth) == [3]
    assert best_counts([(0.6, 7)], 1, 7, FLAT, half) == [1]
    assert best_counts([(0.4, 7)], 1, 7, FLAT, half) == [0]
    assert best_counts([(0.4, 7)] * 4, 4, 4, FLAT, tenth) == [1] * 4, "one round for all of them"


def test_rows_that_are_not_sampled_yield_no_token() -> None:
    """A step with recomputed tokens has more rows than sequences: a draft adds more than a token for each row."""
    half = measured((1, 0.55), (8, 0.55))
    assert best_counts([(0.6, 7)], 1, 7, FLAT, half) == [1]
    assert best_counts([(0.6, 7)], 4, 4, FLAT, half) == [1]
    assert best_counts([], 4, 4, FLAT, half) == []


def test_accepted_drafts_that_are_computed_again_cost_another_row() -> None:
    steep = measured(*((rows, 1 + 0.3 * (rows - 1)) for rows in range(8, 0, -1)))
    assert best_counts([(0.7, 3)], 1, 7, steep, FREE) == [2]
    assert best_counts([(0.7, 3)], 1, 7, steep, FREE, repeated=1.0) == [1]
    assert best_counts([(0.7, 3)], 1, 7, FLAT, FREE, repeated=1.0) == [3]


class CountingHead:
    """Guesses the number after a token; a hidden state grows by 100 from round to round."""

    num_common = 50

    def __init__(self) -> None:
        self.rounds: list[list[tuple[int, int, float]]] = []
        self.common: list[bool] = []
        self.rotary_positions: list[list[int]] = []

    def guess(self, rows: DraftRows, cache: KVCache, *, is_common: bool) -> Guesses:
        self.common.append(is_common)
        self.rotary_positions.append(rows.rotary_positions.tolist())
        hidden = rows.hidden[:, 0].tolist()
        self.rounds.append(list(zip(rows.token_ids.tolist(), rows.positions.tolist(), hidden, strict=True)))
        for position, table in zip(rows.positions.tolist(), rows.block_tables, strict=True):
            assert len(set(table[: position // 4 + 1].tolist())) == position // 4 + 1
        logits = np.zeros((len(rows.token_ids), VOCAB), np.float32)
        logits[np.arange(len(logits)), (rows.token_ids + 1) % VOCAB] = 1.0
        return Guesses(logits, rows.hidden + np.float32(100))


@dataclass
class CountingModel(FakeModel):
    """After token n comes n + 1, except after tokens of `exceptions`; a hidden state is the row's position."""

    exceptions: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__(VOCAB)
        self.draft_head = CountingHead()

    def forward(self, batch: Batch, cache: KVCache) -> NDArray[np.float32]:
        last = batch.token_ids[batch.logit_rows]
        self._positions = batch.positions[batch.logit_rows]
        best = [self.exceptions.get(token, (token + 1) % VOCAB) for token in last.tolist()]
        logits = np.zeros((last.size, VOCAB), np.float32)
        logits[np.arange(last.size), best] = 9.0
        return logits

    def last_hidden(self, num_rows: int) -> NDArray[np.float32]:
        assert num_rows == len(self._positions)
        return np.repeat(self._positions.astype(np.float32)[:, None], 4, axis=1)


def run(model: CountingModel, jobs: list[Dispatch], **limits: int) -> tuple[Engine, dict[int, list[list[int]]]]:
    """The tokens of each step of each dispatch."""
    given = {"cache_blocks": 60, "block_size": 4, "max_drafts": 3, **limits}
    engine = Engine(model, TextOptions(NoBytes(), []), EngineLimits(**given), clock=lambda: 0.0)
    said: dict[int, list[list[int]]] = {job.dispatch_id: [] for job in jobs}
    for job in jobs:
        engine.add(job)
    while engine.has_work:
        for delta in engine.step():
            said[delta.dispatch_id].append(list(delta.token_ids))
    assert engine.free_blocks == given["cache_blocks"]
    return engine, said


def job(number: int, prompt_ids: list[int], max_tokens: int) -> Dispatch:
    return Dispatch(number, f"{number:032x}", prompt_ids, [], SamplingParams(max_tokens=max_tokens))


def test_a_step_adds_the_accepted_drafts_and_one_more_token() -> None:
    engine, said = run(CountingModel(exceptions={5: 20}), [job(1, [1, 2], 12)])
    assert said[1] == [[3], [4, 5, 20], [21, 22, 23, 24], [25, 26, 27, 28]]
    counters = engine.counters
    assert (counters.draft_tokens, counters.accepted_draft_tokens) == (9, 8)


def test_each_draft_reads_the_hidden_state_before_it() -> None:
    """The first one that of the model, from which its token was sampled; the others those of the head."""
    model = CountingModel(exceptions={5: 20})
    run(model, [job(1, [1, 2], 9)])
    first, second = model.draft_head.rounds[:3], model.draft_head.rounds[3:6]
    assert first == [[(3, 2, 1.0)], [(4, 3, 101.0)], [(5, 4, 201.0)]]
    assert second == [[(20, 5, 4.0)], [(21, 6, 104.0)], [(22, 7, 204.0)]], "after the draft that was wrong"


def test_sequences_share_the_rounds_and_the_free_rows() -> None:
    model = CountingModel()
    _, said = run(model, [job(1, [1, 2], 8), job(2, [31], 8), job(3, [41, 42, 43], 8)])
    sizes = [len(each) for each in model.draft_head.rounds]
    assert sizes[:2] == [3, 2], "five rows are free in a step of three"
    assert [len(each) for each in said[1]][:2] == [1, 3]
    assert [token for each in said[2] for token in each] == list(range(32, 40))


@pytest.mark.parametrize(
    ("limits", "largest"), [({"token_budget": 3}, 3), ({"max_drafts": 1}, 2), ({"cache_blocks": 2}, 4)]
)
def test_drafts_fit_budget_limit_and_blocks(limits: dict[str, int], largest: int) -> None:
    _, said = run(CountingModel(), [job(1, [1, 2, 3], 5)], **limits)
    assert max(map(len, said[1])) == largest
    assert [token for each in said[1] for token in each] == [4, 5, 6, 7, 8]


def test_a_preempted_sequence_has_no_drafts_before_it_is_computed_again() -> None:
    model = CountingModel()
    jobs = [job(number, [10 * number + 1, 10 * number + 2], 14) for number in range(4)]
    engine, said = run(model, jobs, cache_blocks=9)
    assert engine.counters.preemptions > 0
    for number in range(4):
        assert [token for each in said[number] for token in each] == [10 * number + 3 + i for i in range(14)]
    for rounds in model.draft_head.rounds:
        for token, position, hidden in rounds:
            assert hidden >= 100 or hidden == position - 1, token


def test_without_drafts_the_head_is_not_run() -> None:
    model = CountingModel()
    _, said = run(model, [job(1, [1, 2], 4)], max_drafts=0)
    assert model.draft_head.rounds == []
    assert said[1] == [[3], [4], [5], [6]]


def test_drafts_that_do_not_pay_are_tried_rarely() -> None:
    """A round that takes as long as ten steps; the costs of steps do not include it."""
    seconds = [0.0]
    head = CountingHead()

    class SlowHead(CountingHead):
        def guess(self, rows: DraftRows, cache: KVCache, *, is_common: bool) -> Guesses:
            seconds[0] += 10.0
            return head.guess(rows, cache, is_common=is_common)

    class SlowModel(CountingModel):
        def forward(self, batch: Batch, cache: KVCache) -> NDArray[np.float32]:
            seconds[0] += 1.0
            return super().forward(batch, cache)

    slow = SlowModel()
    slow.draft_head = SlowHead()
    limits = EngineLimits(cache_blocks=60, block_size=4, max_drafts=3)
    engine = Engine(slow, TextOptions(NoBytes(), []), limits, clock=lambda: seconds[0])
    engine.add(job(1, [1, 2], 100))
    while engine.has_work:
        engine.step()
    assert 2 <= len(head.rounds) <= 12
    assert engine.counters.tokens_generated == 100
    assert seconds[0] == len(head.rounds) * 10.0 + (100 - engine.counters.accepted_draft_tokens)


def test_drafts_are_common_tokens_if_the_last_ones_are() -> None:
    """In the rounds of several sequences, if those of all are."""
    common, rare = CountingModel(), CountingModel()
    run(common, [job(1, [1, 2], 9), job(2, [20, 60, *range(20)], 9)])
    run(rare, [job(1, [1, 2], 9), job(2, [20, 60, 61, 62, *range(11)], 9)])
    assert set(common.draft_head.common) == {True}
    assert rare.draft_head.common[0] is False
    assert rare.draft_head.common[-1] is True, "after more common tokens"


def test_drafts_after_a_picture_turn_by_the_positions_of_the_text() -> None:
    """The picture of eight tokens in two rows moves the text by four positions; the other sequence has none."""
    head = CountingHead()
    drafter = HeadDrafter(head, KVCache.allocate(CountingModel().cache_shape, 9, 4), 8, clock=lambda: 0.0)
    sequences = []
    for number in range(2):
        dispatch = job(number, list(range(1, 16)), 9)
        sequence = Sequence(dispatch, Detokenizer(NoBytes(), dispatch.params), max_context=99, block_size=4)
        sequence.block_table.extend(4 * number + index for index in range(5))
        sequence.hidden = np.zeros(4, np.float32)
        sequences.append(sequence)
    sequences[1].pictures = SimpleNamespace(axes=AxisPositions([(2, 2, 4)]))  # type: ignore[assignment]
    drafter.propose(sequences, [2, 2])
    assert [[position for _, position, _ in each] for each in head.rounds] == [[14, 14], [15, 15]]
    assert head.rotary_positions == [[14, 10], [15, 11]]
