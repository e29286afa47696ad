"""A dispatch's deltas have the same bits in any batch: compared with ==, probabilities included."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np
import pytest

from cactus_actors.workers.engine.model import Model
from tests.support.models.adapted_engine import ADAPTED
from tests.support.models.exact_dispatches import (
    MODELS,
    Outcome,
    after_a_crash,
    alone,
    make_dispatches,
    make_engine,
    on_one_and_two_threads,
    run,
    said,
)


@pytest.fixture(scope="module", params=MODELS)
def models(request: pytest.FixtureRequest) -> Iterator[dict[int, Model]]:
    """The same model on one and on two threads."""
    with on_one_and_two_threads(request.param) as models:
        yield models


@pytest.fixture(scope="module")
def expected(models: dict[int, Model]) -> list[Outcome]:
    return alone(models[1])


def test_the_cases_cover_different_code_paths(expected: list[Outcome]) -> None:
    reasons = {outcome.finish.reason for outcome in expected if outcome.finish}
    assert reasons == {"stop", "length"}
    assert [len(outcome.token_ids) for outcome in expected][-3:] == [18, 1, 0]
    assert [len(outcome.prompt) for outcome in expected] == [0] * 8 + [75] + [0] * 4
    assert [outcome.mirostat_mu is not None for outcome in expected].count(True) == 2
    assert len({tuple(outcome.token_ids) for outcome in expected}) == len(expected)
    num_tapped = [len(outcome.prompt_states) for outcome in expected]
    assert num_tapped == [0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0]
    assert len({outcome.prompt_states[1] for outcome in expected if outcome.prompt_states}) == sum(num_tapped)


def test_tokens_are_the_same_in_a_batch(models: dict[int, Model], expected: list[Outcome]) -> None:
    assert said(run(make_engine(models[1]), *make_dispatches())) == said(expected)


def test_tokens_are_the_same_without_taps(models: dict[int, Model], expected: list[Outcome]) -> None:
    dispatches = [msgspec.structs.replace(dispatch, tapped_layers=[]) for dispatch in make_dispatches()]
    outcomes = run(make_engine(models[1]), *dispatches)
    assert [outcome.said[:-1] for outcome in outcomes] == [outcome.said[:-1] for outcome in expected]
    assert not any(outcome.prompt_states for outcome in outcomes)


def test_tokens_are_the_same_on_two_threads(models: dict[int, Model], expected: list[Outcome]) -> None:
    assert said(run(make_engine(models[2]), *make_dispatches())) == said(expected)
    assert said(run(make_engine(models[2]), make_dispatches()[3])) == said(expected[3:4])


def test_tokens_are_the_same_with_a_chunked_prompt(models: dict[int, Model], expected: list[Outcome]) -> None:
    engine = make_engine(models[1], token_budget=7)
    assert said(run(engine, *make_dispatches())) == said(expected)


def test_tokens_are_the_same_on_a_cached_prefix(models: dict[int, Model], expected: list[Outcome]) -> None:
    engine = make_engine(models[1])
    run(engine, make_dispatches()[-1])
    again = run(engine, *make_dispatches())
    assert said(again) == said(expected)
    expected_tokens = [0, 0, 0, 16, 32, 0, 16, 32, 0, 48, 32, 64, 80]
    if models[1].slot_size:  # reusable only up to the checkpoints, at 32, 64 and 80
        expected_tokens = [0, 0, 0, 0, 32, 0, 0, 32, 0, 32, 32, 64, 80]
    given_tokens = [outcome.cached_tokens for outcome in again]
    if models[1] in ADAPTED:  # the prefix is that of the model itself
        given_tokens, expected_tokens = given_tokens[::2], expected_tokens[::2]
    assert given_tokens == expected_tokens


def test_tokens_are_the_same_after_preemption(models: dict[int, Model], expected: list[Outcome]) -> None:
    engine = make_engine(models[1], cache_blocks=6)
    assert said(run(engine, *make_dispatches())) == said(expected)
    assert engine.counters.preemptions > 0
    assert engine.free_blocks == 6


def test_tokens_are_the_same_with_drafts_in_a_batch(models: dict[int, Model], expected: list[Outcome]) -> None:
    engine = make_engine(models[1], cache_blocks=6, max_drafts=4)
    assert said(run(engine, *make_dispatches())) == said(expected)
    assert engine.counters.accepted_draft_tokens > 0


def test_tokens_are_the_same_on_blocks_with_old_contents(models: dict[int, Model], expected: list[Outcome]) -> None:
    engine = make_engine(models[1])
    for array in engine._cache.arrays:
        array.view(np.uint8).fill(0xFF)  # not a number in every floating-point format
    assert said(run(engine, *make_dispatches())) == said(expected)


def test_tokens_are_the_same_after_a_crash(models: dict[int, Model], expected: list[Outcome]) -> None:
    """Another worker gets the emitted tokens; the texts and positions of both attempts join exactly."""
    for dispatch, whole in zip(make_dispatches(), expected, strict=True):
        if len(whole.token_ids) > 5:
            assert after_a_crash(models[1], dispatch, cut=5).said == whole.said


def test_a_complete_answer_that_is_dispatched_again_ends_at_once(
    models: dict[int, Model], expected: list[Outcome]
) -> None:
    engine = make_engine(models[1])
    for dispatch, whole in zip(make_dispatches()[:-1], expected, strict=False):
        engine.add(msgspec.structs.replace(dispatch, emitted_ids=whole.token_ids))
        (delta,) = engine.step()
        assert (delta.position, delta.token_ids, delta.finish) == (len(whole.token_ids), [], whole.finish)
        assert not engine.has_work
