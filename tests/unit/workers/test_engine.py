"""The engine's outputs for its sequences: ends, texts, failures and counts; the model counts upwards."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from cactus_actors.protocol.worker_messages import Finish
from cactus_actors.workers.engine.engine import Engine
from cactus_actors.workers.engine.kv_cache import KVCache
from cactus_actors.workers.engine.options import EngineLimits, TextOptions
from cactus_actors.workers.engine.step_batch import Batch
from tests.support.models.counting_engine import (
    END_ID,
    EXPLODES,
    VOCAB,
    CountingModel,
    LetterTokenizer,
    dispatch,
    error_type,
    make_engine,
    outcome,
    run,
)


def test_max_tokens_ends_a_sequence() -> None:
    assert outcome(run(make_engine(), dispatch([3]))) == ([4, 5, 6, 7, 8], "efghi", Finish("length"))


def test_the_end_token_counts_but_has_no_text() -> None:
    assert outcome(run(make_engine(), dispatch([37]))) == (
        [38, 39, 40],
        "mn",
        Finish("stop", stop_match=END_ID),
    )


def test_ignore_eos_continues_after_the_end_token() -> None:
    tokens, text, finish = outcome(run(make_engine(), dispatch([37], ignore_eos=True)))
    assert (tokens, text, finish) == ([38, 39, 40, 41, 42], "mnpq", Finish("length"))


def test_min_tokens_forbids_the_end_token_and_stop_strings_before_that() -> None:
    tokens, text, finish = outcome(run(make_engine(), dispatch([37], min_tokens=4, max_tokens=9, stop=("n", "r"))))
    assert tokens == [38, 39, 41, 42, 43]  # 40 was masked, so the second most likely came
    assert (text, finish) == ("mnpq", Finish("stop", stop_match="r"))


@pytest.mark.parametrize(("include", "text"), [(False, "ef"), (True, "efgh")])
def test_a_stop_string_ends_a_sequence(include: bool, text: str) -> None:
    deltas = run(make_engine(), dispatch([3], stop=("gh",), include_stop_sequences=include))
    assert outcome(deltas) == ([4, 5, 6, 7], text, Finish("stop", stop_match="gh"))
    assert [delta.text for delta in deltas[:3]] == ["e", "f", ""]


def test_held_back_text_is_reported_at_the_end() -> None:
    assert outcome(run(make_engine(), dispatch([3], stop=("hix",)))) == (
        [4, 5, 6, 7, 8],
        "efghi",
        Finish("length"),
    )


def test_prefill_only_ends_without_a_token() -> None:
    engine = make_engine()
    (delta,) = run(engine, dispatch([1] * 9, max_tokens=0))
    assert (delta.position, delta.token_ids, delta.finish) == (0, [], Finish("length"))
    (delta,) = run(engine, dispatch([1] * 9, max_tokens=0))
    assert delta.cached_tokens == 8


def test_the_context_ends_a_sequence() -> None:
    tokens, _, finish = outcome(run(make_engine(), dispatch([1] * 60, max_tokens=50)))
    assert (len(tokens), finish) == (4, Finish("model_length"))


def test_emitted_tokens_are_not_reported_again() -> None:
    whole = run(make_engine(), dispatch([3], stop=("gx",)))
    rest = run(make_engine(), dispatch([3], emitted_ids=(4, 5, 6), stop=("gx",)))
    assert rest == whole[3:]
    assert (rest[0].position, rest[0].text) == (3, "gh")  # the "g" was held back by the first attempt


@pytest.mark.parametrize(
    ("prompt_ids", "params", "kind"),
    [
        ([], {}, "invalid_request_error"),
        ([VOCAB], {}, "invalid_request_error"),
        ([-1], {}, "invalid_request_error"),
        ([1] * 65, {}, "exceed_context_size_error"),
    ],
)
def test_an_invalid_prompt_is_refused_with_a_typed_error(
    prompt_ids: list[int], params: dict[str, object], kind: str
) -> None:
    (delta,) = run(make_engine(), dispatch(prompt_ids, **params))
    assert (delta.position, delta.token_ids, error_type(delta)) == (0, [], kind)


def test_a_cache_smaller_than_the_context_ends_a_sequence_as_the_context_would() -> None:
    deltas = run(make_engine(cache_blocks=2), dispatch([1] * 6, max_tokens=50))
    assert [token for delta in deltas for token in delta.token_ids] == [2, 3]
    assert deltas[-1].finish == Finish("model_length")


def test_a_prompt_larger_than_the_whole_cache_is_refused() -> None:
    (delta,) = run(make_engine(cache_blocks=2), dispatch([1] * 9))
    assert (delta.token_ids, error_type(delta)) == ([], "exceed_context_size_error")


def test_logits_that_are_not_finite_end_that_sequence_only() -> None:
    engine = make_engine()
    deltas = run(engine, dispatch([48], dispatch_id=1, stop=("x!",)), dispatch([3], dispatch_id=2))
    bad = [delta for delta in deltas if delta.dispatch_id == 1]
    good = [delta for delta in deltas if delta.dispatch_id == 2]
    assert ([d.token_ids for d in bad], error_type(bad[-1])) == ([[49], [50], []], "model_error")
    assert bad[-1].position == 2
    assert outcome(good)[0] == [4, 5, 6, 7, 8]
    assert engine.free_blocks == 32


def test_a_failure_reports_held_back_text() -> None:
    deltas = run(make_engine(), dispatch([48], stop=("yz",)))
    assert "".join(delta.text for delta in deltas) == "xy"


def test_a_failing_step_fails_only_the_sequence_that_causes_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    engine = make_engine()
    deltas = run(engine, dispatch([EXPLODES], dispatch_id=1), dispatch([3], dispatch_id=2))
    assert (deltas[0].dispatch_id, error_type(deltas[0])) == (1, "model_error")
    assert "boom" in caplog.text  # which is invisible to clients
    assert deltas[0].finish.error.message == "a step failed: RuntimeError"  # type: ignore[union-attr]
    assert outcome(deltas[1:]) == ([4, 5, 6, 7, 8], "efghi", Finish("length"))
    assert engine.free_blocks == 32


def test_a_token_without_text_fails_only_its_sequence() -> None:
    class SmallVocabulary(LetterTokenizer):
        def token_bytes(self, token_id: int) -> bytes:
            if token_id >= 30:
                raise IndexError(token_id)
            return super().token_bytes(token_id)

    engine = Engine(
        CountingModel(), TextOptions(SmallVocabulary(), [END_ID]), EngineLimits(cache_blocks=32, block_size=4)
    )
    deltas = run(engine, dispatch([27], dispatch_id=1), dispatch([3], dispatch_id=2))
    bad = [delta for delta in deltas if delta.dispatch_id == 1]
    assert ([d.token_ids for d in bad], error_type(bad[-1])) == ([[28], [29], []], "model_error")
    assert bad[-1].position == 2
    assert outcome([delta for delta in deltas if delta.dispatch_id == 2])[0] == [4, 5, 6, 7, 8]
    (refused,) = run(engine, dispatch([3], emitted_ids=(50,)))
    assert error_type(refused) == "model_error"
    assert engine.free_blocks == 32


def test_a_failed_sequence_leaves_no_cached_prefix() -> None:
    engine = make_engine()
    run(engine, dispatch([1, 2, 3, 4, 5, 6, EXPLODES]))
    deltas = run(engine, dispatch([1, 2, 3, 4, 5, 6]))
    assert deltas[0].cached_tokens == 0


def test_an_abort_frees_a_running_a_waiting_and_a_refused_dispatch() -> None:
    engine = make_engine(max_sequences=1)
    for i, prompt in enumerate([[1] * 9, [2] * 9, []]):
        engine.add(dispatch(prompt, dispatch_id=i))
    engine.step()
    engine.add(dispatch([], dispatch_id=3))
    for i in range(4):
        engine.abort(i)
    engine.abort(99)
    assert (engine.has_work, engine.free_slots, engine.free_blocks) == (False, 1, 32)
    assert engine.step() == []


def test_the_same_dispatch_again_is_ignored() -> None:
    engine = make_engine()
    assert len(run(engine, dispatch([3]), dispatch([3]))) == 5


def test_the_engine_counts_sequences_and_tokens() -> None:
    engine = make_engine()
    run(engine, dispatch([1] * 9, dispatch_id=1))
    run(engine, dispatch([1] * 9, dispatch_id=2))
    counters = engine.counters
    assert counters.tokens_generated == 10
    assert counters.prompt_tokens_computed == 10
    assert counters.cached_prompt_tokens == 8
    engine.abort_all()
    counters.reset()
    assert counters.tokens_generated == 0


def test_sequences_on_deck_make_free_slots_negative() -> None:
    engine = make_engine(max_sequences=1)
    engine.add(dispatch([1], dispatch_id=1))
    engine.add(dispatch([1], dispatch_id=2))
    assert (engine.free_slots, engine.num_running) == (-1, 0)
    engine.step()
    assert engine.num_running == 1


def test_measures_are_computed_from_the_raw_logits() -> None:
    (first, *_) = run(make_engine(), dispatch([3], temperature=0.0))
    weights = np.exp(np.array([9.0, 8.0] + [0.0] * (VOCAB - 2)))
    probabilities = weights / weights.sum()
    assert first.logprobs == [pytest.approx(np.log(probabilities[0]), abs=1e-5)]
    entropy = -(probabilities * np.log(probabilities)).sum() / np.log(VOCAB)
    assert first.entropies == [pytest.approx(entropy, abs=1e-6)]


def test_the_batch_orders_tokens_by_sequence() -> None:
    batches: list[Batch] = []

    class Recorder(CountingModel):
        def forward(self, batch: Batch, cache: KVCache) -> NDArray[np.float32]:
            batches.append(batch)
            return super().forward(batch, cache)

    engine = Engine(
        Recorder(),
        TextOptions(LetterTokenizer(), [END_ID]),
        EngineLimits(cache_blocks=32, block_size=4, max_sequences=4, token_budget=8),
    )
    engine.add(dispatch([10, 11], dispatch_id=1))
    engine.add(dispatch([20, 21, 22, 23, 24, 25, 26], dispatch_id=2))
    engine.step()
    engine.step()
    first, second = batches
    assert first.token_ids.tolist() == [10, 11, 20, 21, 22, 23, 24, 25]
    assert first.positions.tolist() == [0, 1, 0, 1, 2, 3, 4, 5]
    assert first.sequence_of_token.tolist() == [0, 0, 1, 1, 1, 1, 1, 1]
    assert first.block_tables.tolist() == [[0, 0], [1, 2]]
    assert first.logit_rows.tolist() == [1]
    assert second.token_ids.tolist() == [12, 26]
    assert second.positions.tolist() == [2, 6]
    assert second.logit_rows.tolist() == [0, 1]
    assert all(array.dtype == np.int32 for array in (first.token_ids, first.positions, first.block_tables))


def test_no_step_after_the_first_lasts_longer_than_a_heartbeat() -> None:
    now = 0.0
    sizes = []

    class SlowModel(CountingModel):
        def forward(self, batch: Batch, cache: KVCache) -> NDArray[np.float32]:
            nonlocal now
            sizes.append(len(batch.token_ids))
            now += 0.1 * len(batch.token_ids)
            return super().forward(batch, cache)

    engine = Engine(
        SlowModel(),
        TextOptions(LetterTokenizer(), [END_ID]),
        EngineLimits(cache_blocks=32, block_size=4, token_budget=32),
        clock=lambda: now,
    )
    deltas = run(engine, dispatch([1] * 60, max_tokens=2))
    assert [token for delta in deltas for token in delta.token_ids] == [2, 3]
    assert sizes == [32, 10, 10, 8, 1]
