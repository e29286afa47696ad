"""The sampler against a literal float64 derivation of its formulas."""

from __future__ import annotations

import hashlib
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.workers.engine.sampler import Sampler
from cactus_actors.workers.kernels import nucleus, sampling_random
from cactus_actors.workers.kernels.nucleus import MAX_SORTED
from tests.support.models.for_python import for_python
from tests.support.models.sampler_cases import (
    VOCAB,
    Case,
    adjusted,
    drawn,
    make_case,
    sample,
    sample_one,
    softmax,
)

uniform = for_python(sampling_random.uniform)
cut_of = for_python(nucleus.cut_of)

RULES: dict[str, dict[str, object]] = {
    "plain": {},
    "hot": {"temperature": 1.9},
    "cold": {"temperature": 0.1},
    "top_k": {"top_k": 7},
    "top_k of 1": {"top_k": 1},
    "top_k beyond the vocabulary": {"top_k": 10_000},
    "top_p": {"top_p": 0.8},
    "top_p of 0": {"top_p": 0.0},
    "top_p almost 1": {"top_p": 0.9999},
    "top_p and min_p, hot": {"top_p": 0.97, "min_p": 0.01, "temperature": 1.7},
    "min_p": {"min_p": 0.05},
    "min_p and top_p": {"min_p": 0.02, "top_p": 0.95},
    "all": {"top_k": 20, "top_p": 0.9, "min_p": 0.03, "temperature": 0.6},
    "penalties": {"repeat_penalty": 1.3, "presence_penalty": 0.4, "frequency_penalty": 0.7},
    "rewards": {"repeat_penalty": 0.5, "presence_penalty": -2.0, "frequency_penalty": -1.0, "top_k": 5},
    "short window": {"repeat_penalty": 3.0, "repeat_last_n": 2, "top_p": 0.9},
    "no window": {"repeat_penalty": 3.0, "repeat_last_n": 0, "top_p": 0.9},
    "whole window": {"frequency_penalty": 2.0, "repeat_last_n": -1, "top_k": 40},
    "min_tokens": {"min_tokens": 50, "top_k": 9},
    "output only": {"presence_penalty": 1.5, "frequency_penalty": 0.6, "penalise_prompt": False, "top_k": 30},
    "output only, repeats everywhere": {
        "repeat_penalty": 1.4,
        "presence_penalty": -1.5,
        "penalise_prompt": False,
        "repeat_last_n": 5,
    },
    "output only, beyond the window": {
        "frequency_penalty": 1.0,
        "penalise_prompt": False,
        "repeat_last_n": 0,
    },
    "typical": {"typical_p": 0.3},
    "typical of 0": {"typical_p": 0.0},
    "typical, hot": {"typical_p": 0.6, "temperature": 1.8},
    "typical and the others": {"typical_p": 0.7, "top_p": 0.8, "min_p": 0.2, "temperature": 0.7},
    "typical in the top": {"typical_p": 0.5, "top_k": 40},
    "typical in the top and the others": {"typical_p": 0.8, "top_k": 60, "top_p": 0.7, "min_p": 0.3},
    "a large top": {"top_k": 280, "temperature": 2.0},
    "a large top and the others": {"top_k": 270, "typical_p": 0.9, "top_p": 0.95, "min_p": 0.001},
    "bias": {"logit_bias": ((7, 4.0), (8, -3.0), (7, 1.5), (299, 6.0)), "top_k": 20},
    "bias and penalties": {"logit_bias": ((7, 9.0), (2, 8.0)), "repeat_penalty": 1.8, "min_tokens": 50},
}


@pytest.mark.parametrize("rule", RULES)
def test_tokens_equal_those_of_the_formulas(rule: str) -> None:
    history = tuple(np.random.default_rng(0).integers(0, VOCAB, 90).tolist())
    for seed in range(60):
        case = make_case(seed, scale=1.5 if seed % 2 else 4.0, **{"temperature": 1.0, **RULES[rule]})
        case.prompt_ids, case.emitted_ids, case.choice = history[:70], history[70 : 70 + seed % 20], seed % 3
        top = np.argsort(-case.logits)[:4].tolist()  # ensure that the window holds likely tokens
        case.emitted_ids = (*case.emitted_ids, *top, top[0])
        assert sample_one(case) == drawn(case), seed


@pytest.mark.parametrize("rule", ["penalties", "min_tokens", "rewards"])
def test_temperature_zero_is_the_argmax_of_the_penalised_logits(rule: str) -> None:
    for seed in range(40):
        case = make_case(seed, temperature=0.0, **RULES[rule])
        case.prompt_ids = tuple(np.argsort(-case.logits)[:30].tolist())
        case.emitted_ids = case.prompt_ids[:2]
        assert sample_one(case) == int(np.argmax(adjusted(case).astype(np.float32)))


@pytest.mark.parametrize("temperature", [0.0, 1e-300])
def test_the_lowest_id_wins_a_tie_at_zero_and_the_coldest_draw_is_a_maximum(temperature: float) -> None:
    logits = np.zeros(VOCAB, dtype=np.float32)
    logits[[130, 70, 299]] = 4.0
    token = sample_one(Case(logits, SamplingParams(max_tokens=9, temperature=temperature)))
    assert token == 70 if temperature == 0 else token in (70, 130, 299)


def test_a_banned_token_is_sampled_only_if_nothing_else_is_allowed() -> None:
    for options in ({}, {"top_k": 40}, {"typical_p": 0.5}, {"mirostat": 1}, {"mirostat": 2}):
        for temperature in (0.0, 1.0):
            case = make_case(1, temperature=temperature, **options)
            top = np.argsort(-case.logits)[:100].tolist()
            case.params = replace(case.params, logit_bias=tuple((token, -math.inf) for token in top))
            assert sample_one(case) not in top
            case.params = replace(case.params, logit_bias=tuple((token, -math.inf) for token in range(VOCAB)))
            case.allowed = (77,)
            assert sample_one(case) == 77


def test_greedy_ignores_the_seed_and_every_truncation() -> None:
    tokens = {sample_one(make_case(3, temperature=0.0, top_k=k, top_p=p)) for k in (0, 1, 9) for p in (0.0, 0.5, 1.0)}
    assert tokens == {int(np.argmax(make_case(3).logits))}


def test_ties_at_the_border_of_top_k_keep_the_lower_ids() -> None:
    logits = np.full(VOCAB, -30.0, dtype=np.float32)
    logits[[200, 10, 100, 50]] = 1.0
    tokens = {
        sample_one(Case(logits, SamplingParams(max_tokens=9, temperature=1.0, top_k=2, seed=seed)))
        for seed in range(60)
    }
    assert tokens == {10, 50}


@given(
    steps=st.lists(st.integers(0, 40), min_size=1, max_size=400),
    copies=st.sampled_from([1, 1, 3, 7]),
    spread=st.sampled_from([0.0, 1e-6, 0.01, 0.3]),
    top_p=st.sampled_from([0.0, 0.2, 0.5, 0.9, 0.999, 1 - 1e-9]),
)
@settings(max_examples=100, deadline=None)
def test_top_p_equals_a_sorted_reference(steps: list[int], copies: int, spread: float, top_p: float) -> None:
    """With ties, near ties and one weight for all; float32 sums may move the cut by their rounding error."""
    weights = np.exp(-spread * np.array(steps * copies)).astype(np.float32)
    weights[len(weights) // 2] = 1.0
    total = float(weights.sum(dtype=np.float64))
    candidates = np.empty(max(MAX_SORTED, weights.size), np.int32)
    cut, last = cut_of(weights, total, top_p, candidates)
    ranked = np.lexsort((np.arange(weights.size), -weights))
    is_kept = (weights > cut) | ((weights == cut) & (np.arange(weights.size) <= last))
    num_kept = int(is_kept.sum())
    assert num_kept >= 1
    assert set(np.flatnonzero(is_kept).tolist()) == set(ranked[:num_kept].tolist())
    masses = np.cumsum(weights[ranked], dtype=np.float64)
    slack = 1e-6 * total
    assert masses[num_kept - 1] >= top_p * total - slack
    assert num_kept == 1 or masses[num_kept - 2] < top_p * total + slack


def test_measures_are_finite_for_logits_of_any_size() -> None:
    logits = np.array([3e38, -3e38, 0.0, 2e38] * 500, dtype=np.float32)
    samples = sample(
        Case(logits, SamplingParams(max_tokens=9)),
        Case(logits, SamplingParams(max_tokens=9, temperature=1.0, top_p=0.5, seed=4)),
    )
    assert samples.rows["is_finite"].tolist() == [True, True]
    assert [token % 4 for token in samples.rows["token_id"].tolist()] == [0, 0]
    assert samples.rows["entropy"].tolist() == [pytest.approx(math.log(500) / math.log(2000))] * 2


def test_frequencies_follow_the_probabilities() -> None:
    logits = np.array([0.0, 1.0, 2.0], dtype=np.float32)
    params = SamplingParams(max_tokens=9, temperature=1.0, seed=11)
    cases = [Case(logits, params, choice=choice) for choice in range(20_000)]
    sampler = Sampler([])
    samples = sampler.sample(np.tile(logits, (len(cases), 1)), [case.chunk for case in cases])
    counts = np.bincount(samples.rows["token_id"], minlength=3)
    expected = softmax(logits.astype(np.float64)) * len(cases)
    assert ((counts - expected) ** 2 / expected).sum() < 13.8  # chi-squared, 2 degrees, p = 0.001


def test_random_numbers_depend_on_seed_choice_and_position_only() -> None:
    numbers = {
        uniform(np.uint64(seed), np.uint64(choice), np.uint64(position))
        for seed in (0, 1, 2**64 - 1)
        for choice in range(3)
        for position in range(100)
    }
    assert len(numbers) == 900
    assert all(0 <= number < 1 for number in numbers)
    assert uniform(np.uint64(7), np.uint64(1), np.uint64(5)) == uniform(np.uint64(7), np.uint64(1), np.uint64(5))


@pytest.mark.parametrize("vocab", [1, 2, 63, 64, 65, 300, 1023, 1024, 1025, 5000])
def test_entropy_and_logprob_are_computed_from_the_raw_softmax(vocab: int) -> None:
    for seed in range(10):
        case = make_case(seed, vocab=vocab, temperature=0.7, top_k=40, repeat_penalty=1.5)
        case.prompt_ids = (0,)
        case.params = SamplingParams(max_tokens=9, temperature=0.7, repeat_penalty=1.5, seed=seed)
        logits = case.logits[None].copy()
        samples = Sampler([]).sample(logits, [case.chunk])
        probabilities = softmax(case.logits.astype(np.float64))
        entropy = -(probabilities * np.log(probabilities)).sum() / math.log(vocab) if vocab > 1 else 0.0
        assert samples.rows["entropy"][0] == pytest.approx(entropy, abs=1e-6)
        assert samples.rows["logprob"][0] == pytest.approx(
            math.log(probabilities[samples.rows["token_id"][0]]), abs=1e-5
        )


def test_a_certain_token_has_zero_entropy_and_a_uniform_row_the_maximum() -> None:
    certain = np.full(VOCAB, -200.0, dtype=np.float32)
    certain[9] = 200.0
    samples = sample(
        Case(certain, SamplingParams(max_tokens=9)),
        Case(np.zeros(VOCAB, dtype=np.float32), SamplingParams(max_tokens=9)),
    )
    assert samples.rows["entropy"].tolist() == [pytest.approx(0.0, abs=1e-30), pytest.approx(1.0)]
    assert samples.rows["logprob"].tolist() == [0.0, pytest.approx(-math.log(VOCAB))]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", [0, 64, VOCAB - 1])
def test_a_row_that_is_not_finite_is_reported_and_its_neighbours_are_unchanged(bad: float, where: int) -> None:
    broken = make_case(1, temperature=1.0)
    broken.logits[where] = bad
    good = make_case(2, temperature=1.0)
    samples = sample(good, broken, good)
    assert samples.rows["is_finite"].tolist() == [True, False, True]
    assert samples.rows["token_id"][0] == samples.rows["token_id"][2] == sample_one(good)


@given(order=st.permutations(range(8)), temperature=st.sampled_from([0.0, 0.8]))
@settings(max_examples=30, deadline=None)
def test_a_row_does_not_depend_on_its_neighbours(order: list[int], temperature: float) -> None:
    cases = [
        make_case(
            seed,
            temperature=temperature,
            top_k=(0, 5)[seed % 2],
            top_p=0.9,
            typical_p=(1.0, 0.8)[seed // 2 % 2],
            repeat_penalty=1.0 + seed % 2,
            mirostat=(0, 0, 0, 0, 0, 0, 1, 2)[seed],
            num_logprobs=seed % 3,
            logit_bias=((seed, 2.0),) * (seed % 2),
        )
        for seed in order
    ]
    cases[3].allowed = (3, 70, 290)
    together = sample(*cases)
    for row, case in enumerate(cases):
        assert together.of(row, 1) == sample(case).of(0, 1)
        assert together.top(row) == sample(case).top(0)


def test_golden_tokens_do_not_change() -> None:
    """A change of the random numbers or of the order of rules changes every user's seeded results."""
    cases = [
        make_case(seed, temperature=0.9, top_k=(0, 30)[seed % 2], top_p=(1.0, 0.95)[seed // 2 % 2])
        for seed in range(64)
    ]
    digest = hashlib.sha256(sample(*cases).rows["token_id"].astype(np.int32).tobytes()).hexdigest()
    assert digest[:16] == "148e0bc12db98a28"
