"""Speculation on or off, alone or in company: the same tokens, texts, probabilities and ends, by ==."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import Dispatch
from cactus_actors.workers.engine.model import Model
from cactus_actors.workers.loading.load_model import random_model
from tests.support.models.speculative_runs import dispatches, make_engine, run

# So few tokens that earlier sequences often occur again, and are as often followed by another token.
SPEC = "llama:hidden=40,ffn=64,layers=2,heads=4,kv_heads=2,head_dim=12,vocab=7,context=96"


@pytest.fixture(scope="module", params=["float32", "int8"])
def model(request: pytest.FixtureRequest) -> Iterator[Model]:
    model = random_model(SPEC, weights=request.param, threads=1, seed=2)
    yield model
    model.close()


@given(
    jobs=dispatches(),
    max_drafts=st.sampled_from([1, 2, 5, 20]),
    cache_blocks=st.sampled_from([12, 16, 64]),
    token_budget=st.sampled_from([3, 9, 64]),
)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_speculation_changes_no_token(
    model: Model, jobs: list[Dispatch], max_drafts: int, cache_blocks: int, token_budget: int
) -> None:
    expected = [run(make_engine(model, max_drafts=0), [job])[0] for job in jobs]
    engine = make_engine(model, max_drafts=max_drafts, cache_blocks=cache_blocks, token_budget=token_budget)
    assert run(engine, jobs) == expected
    assert run(engine, jobs[:1]) == expected[:1], "on the prefixes that all of them left"
    assert engine.free_blocks == cache_blocks


def test_the_cases_have_accepted_and_rejected_drafts(model: Model) -> None:
    params = [
        SamplingParams(max_tokens=60, temperature=temperature, seed=5, ignore_eos=True) for temperature in (0.0, 0.7)
    ]
    jobs = [Dispatch(i, f"{i:032x}", [1, 2, 4, 5], [], each) for i, each in enumerate(params)]
    expected = [run(make_engine(model, max_drafts=0), [job])[0] for job in jobs]
    engine = make_engine(model, max_drafts=4, clock=lambda: 0.0)  # costs are unknown
    assert run(engine, jobs) == expected
    counters = engine.counters
    assert 10 < counters.accepted_draft_tokens < counters.draft_tokens - 10
    assert counters.tokens_generated == 120
