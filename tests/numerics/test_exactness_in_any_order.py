"""The same bits in any batch, for many sizes of chunks, numbers of drafts, crashes and orders of arrival.

Two models stand for all in `make test`: one with attention only, and one whose recurrent state is kept at checkpoints.
What every model has of its own is in test_exactness_of_sequences.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import Dispatch
from cactus_actors.workers.engine.model import Model
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

REPRESENTATIVES = ("Llama-int8", "Qwen3.5-int8")


@pytest.fixture(
    scope="module",
    params=[name if name in REPRESENTATIVES else pytest.param(name, marks=pytest.mark.slow) for name in MODELS],
)
def models(request: pytest.FixtureRequest) -> Iterator[dict[int, Model]]:
    """The same model on one and on two threads."""
    with on_one_and_two_threads(request.param) as models:
        yield models


@pytest.fixture(scope="module")
def expected(models: dict[int, Model]) -> list[Outcome]:
    return alone(models[1])


@pytest.mark.parametrize("token_budget", [1, 2, 16, 31])
def test_tokens_are_the_same_with_chunks_of_any_size(
    models: dict[int, Model], expected: list[Outcome], token_budget: int
) -> None:
    engine = make_engine(models[1], token_budget=token_budget)
    assert said(run(engine, *make_dispatches())) == said(expected)


@pytest.mark.parametrize("max_drafts", [1, 4, 20])
def test_tokens_are_the_same_with_drafts(models: dict[int, Model], expected: list[Outcome], max_drafts: int) -> None:
    for dispatch, whole in zip(make_dispatches(), expected, strict=True):
        for cache_blocks in (6, 128):
            engine = make_engine(models[1], cache_blocks=cache_blocks, max_drafts=max_drafts)
            assert said(run(engine, dispatch)) == [whole.said]
            assert said(run(engine, dispatch)) == [whole.said], "again, on the prefix that it left"
            assert engine.free_blocks == cache_blocks


@pytest.mark.parametrize("cut", [1, 2, 11, 16])
def test_tokens_are_the_same_after_a_crash_at_any_token(
    models: dict[int, Model], expected: list[Outcome], cut: int
) -> None:
    for dispatch, whole in zip(make_dispatches(), expected, strict=True):
        if len(whole.token_ids) > cut:
            assert after_a_crash(models[1], dispatch, cut).said == whole.said


@pytest.mark.parametrize("threads", [1, pytest.param(2, marks=pytest.mark.slow)])
@given(data=st.data())
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_tokens_are_the_same_in_any_batch(
    models: dict[int, Model], expected: list[Outcome], threads: int, data: st.DataObject
) -> None:
    """Dispatches arrive at any time and in any order, others are aborted, and memory may be short."""
    engine = make_engine(
        models[threads],
        cache_blocks=data.draw(st.sampled_from([6, 9, 40])),
        token_budget=data.draw(st.sampled_from([3, 20, 64])),
        max_drafts=data.draw(st.sampled_from([0, 1, 3, 20])),
    )
    waiting = data.draw(st.permutations(make_dispatches()))
    outcomes = {dispatch.dispatch_id: Outcome() for dispatch in waiting}
    strangers = 0
    # The schedule is drawn first: the number of steps depends on time, because drafts are made where they pay.
    actions = data.draw(
        st.lists(
            st.sampled_from(["step", "step", "step", "add", "abort"]) | st.integers(1, 60),
            min_size=30,
            max_size=120,
        )
    )
    for action in itertools.chain(actions, itertools.repeat("step")):
        if not waiting and not engine.has_work:
            break
        if action == "add" and waiting:
            engine.add(waiting.pop())
        elif isinstance(action, int) and strangers < 5:
            strangers += 1
            prompt = [(11 * j + strangers) % 199 for j in range(action)]
            params = SamplingParams(max_tokens=40, ignore_eos=True)
            engine.add(Dispatch(100 + strangers, "f" * 32, prompt, [], params))
        elif action == "abort":
            engine.abort(100 + strangers)
        else:
            for delta in engine.step():
                if delta.dispatch_id < 100:
                    outcomes[delta.dispatch_id].take(delta)
            if not engine.has_work and waiting:
                engine.add(waiting.pop())
    assert said([outcomes[i] for i in range(len(expected))]) == said(expected)
    assert engine.free_blocks in (6, 9, 40)
