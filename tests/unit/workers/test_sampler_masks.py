"""The mask of a constraint, together with every other sampling rule."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cactus_actors.protocol.errors import ModelFailure
from cactus_actors.workers.engine.sampler import Sampler
from tests.support.models.sampler_cases import END_IDS, VOCAB, Case, drawn, make_case, sample, sample_one

OPTIONS: list[dict[str, object]] = [
    {"temperature": 0.0},
    {"temperature": 1.0},
    {"temperature": 1.0, "top_k": 20},
    {"temperature": 1.0, "top_p": 0.9, "min_p": 0.05},
    {"temperature": 1.0, "typical_p": 0.7},
    {"temperature": 0.8, "top_k": 280, "repeat_penalty": 1.5},
    {"temperature": 1.0, "mirostat": 1},
    {"temperature": 1.0, "mirostat": 2},
]


@given(
    allowed=st.sets(st.integers(0, VOCAB - 1), min_size=1),
    seed=st.integers(0, 1000),
    options=st.sampled_from(OPTIONS),
    emitted=st.lists(st.integers(0, VOCAB - 1), max_size=5),
)
@settings(max_examples=150, deadline=None)
def test_only_allowed_tokens_are_sampled(
    allowed: set[int], seed: int, options: dict[str, object], emitted: list[int]
) -> None:
    case = make_case(seed, **options)
    case.allowed, case.emitted_ids = tuple(allowed), tuple(emitted)
    assert sample_one(case) in allowed


@pytest.mark.parametrize("options", OPTIONS[1:6])
def test_probabilities_cover_the_allowed_tokens(options: dict[str, object]) -> None:
    for seed in range(40):
        case = make_case(seed, **options)
        case.allowed = tuple(np.random.default_rng(seed).choice(VOCAB, 1 + 3 * seed, replace=False).tolist())
        assert sample_one(case) == drawn(case)


def test_measures_are_computed_from_the_raw_logits() -> None:
    free = make_case(3, temperature=0.0, num_logprobs=4)
    bound = make_case(3, temperature=0.0, num_logprobs=4)
    bound.allowed = (int(np.argsort(-free.logits)[30]),)
    both = sample(free, bound)
    assert both.rows["entropy"][0] == both.rows["entropy"][1]
    assert both.top(0) == both.top(1)
    assert both.rows["logprob"][1] == pytest.approx(
        both.rows["logprob"][0] + float(free.logits[bound.allowed[0]] - free.logits.max()), abs=1e-6
    )


def test_a_masked_row_does_not_change_its_neighbours() -> None:
    cases = [make_case(seed, temperature=0.8, top_k=9) for seed in range(3)]
    alone = [sample_one(case) for case in cases]
    cases.insert(1, make_case(9, temperature=0.8))
    cases[1].allowed = (4,)
    assert sample(*cases).rows["token_id"].tolist() == [alone[0], 4, *alone[1:]]


@pytest.mark.parametrize("options", [{"min_tokens": 5}, {"ignore_eos": True}])
def test_banned_end_tokens_are_sampled_only_if_nothing_else_is_allowed(options: dict[str, object]) -> None:
    case = make_case(1, temperature=0.0, **options)
    case.logits[list(END_IDS)] = 50.0
    case.allowed = (*END_IDS, 7)
    assert sample_one(case) == 7
    case.allowed = END_IDS[:1]
    assert sample_one(case) == END_IDS[0]


def test_an_end_token_is_sampled_if_the_mask_allows_it() -> None:
    case = make_case(1, temperature=0.0)
    case.logits[list(END_IDS)] = 50.0
    case.allowed = (*END_IDS, 7)
    assert sample_one(case) == END_IDS[0]


def test_a_mask_without_a_token_is_an_error() -> None:
    case = make_case(1, temperature=0.0)
    case.allowed = ()
    with pytest.raises(ModelFailure):
        sample(case)


def test_tokens_beyond_a_short_mask_are_not_sampled() -> None:
    logits = np.arange(200, dtype=np.float32)
    chunk = Case(logits[:70], make_case(1, temperature=0.0).params, allowed=tuple(range(70))).chunk
    assert Sampler([]).sample(logits[None], [chunk]).rows["token_id"].tolist() == [69]
