"""Mirostat against a literal float64 derivation (Basu et al. 2021; details as in llama.cpp)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray

from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.workers.kernels import sampling_random
from tests.support.models.for_python import for_python
from tests.support.models.sampler_cases import VOCAB, Case, adjusted, make_case, sample, sample_one, softmax

uniform = for_python(sampling_random.uniform)


def num_kept_by_1(probabilities: NDArray[np.float64], mu: float, size: int) -> int:
    """The number of the falling probabilities that version 1 keeps."""
    top = probabilities[:100]
    top = top[top > 0]
    t = np.log((np.arange(len(top) - 1) + 2) / (np.arange(len(top) - 1) + 1))
    b = np.log(top[:-1] / top[1:])
    if not len(t):
        return 1
    s = (t * b).sum() / (t * t).sum()
    if s == 0:
        return size
    epsilon = s - 1
    k = ((epsilon * 2**mu) / (1 - size**-epsilon)) ** (1 / s)
    return max(int(k), 1) if k < size else size


def kept_by_mirostat(case: Case, mu: float) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The remaining ids, in the order of ids, and their probabilities."""
    logits = adjusted(case) / case.params.temperature
    ranked = np.lexsort((np.arange(logits.size), -logits))
    probabilities = softmax(logits)[ranked]
    if case.params.mirostat == 1:
        num_kept = num_kept_by_1(probabilities, mu, logits.size)
    else:
        with np.errstate(divide="ignore"):
            num_kept = max(1, int((-np.log2(probabilities) <= mu).sum()))
    kept = np.sort(ranked[:num_kept])
    kept = kept[np.isfinite(logits[kept])]
    return kept, softmax(logits[kept])


def drawn(case: Case, mu: float) -> tuple[int, float]:
    """The id that the case's random number selects, and the next mu."""
    params = case.params
    rest = uniform(np.uint64(params.seed), np.uint64(case.choice), np.uint64(len(case.emitted_ids)))
    for token, probability in zip(*kept_by_mirostat(case, mu), strict=True):
        rest -= probability
        if rest < 0:
            surprise = -math.log2(probability)
            return int(token), mu - params.mirostat_eta * (surprise - params.mirostat_tau)
    raise AssertionError("probabilities sum to 1")


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("tau", [0.5, 3.0, 5.0])
@pytest.mark.parametrize("vocab", [VOCAB, 5000])
def test_tokens_and_states_equal_those_of_the_formulas(version: int, tau: float, vocab: int) -> None:
    emitted: tuple[int, ...] = ()
    mu = expected_mu = 2 * tau
    for step in range(60):
        logits = make_case(step, scale=1.0 + step % 5, vocab=vocab).logits
        params = SamplingParams(
            max_tokens=100,
            seed=5,
            temperature=0.9,
            mirostat=version,
            mirostat_tau=tau,
            mirostat_eta=0.3,
            logit_bias=((9, 2.0),),
            min_tokens=20,
        )
        case = Case(logits, params, emitted_ids=emitted, mu=None if step == 0 else mu)
        token, expected_mu = drawn(case, expected_mu)
        samples = sample(case)
        mu = float(samples.rows["mu"][0])
        assert samples.rows["token_id"][0] == token, step
        assert mu == pytest.approx(expected_mu, abs=1e-4), step
        emitted = (*emitted, token)


@pytest.mark.parametrize("version", [1, 2])
def test_other_truncations_are_ignored_and_the_mask_applies(version: int) -> None:
    for seed in range(30):
        case = make_case(seed, temperature=1.0, mirostat=version)
        plain = sample_one(case)
        case.emitted_ids = (plain,) * 5
        same_number = sample_one(case)
        case.params = replace(
            case.params,
            top_k=1,
            top_p=0.01,
            min_p=1.0,
            typical_p=0.01,
            repeat_penalty=9.0,
            presence_penalty=2.0,
        )
        assert sample_one(case) == same_number
        case.allowed = tuple({10, 20, 30, 40, 50} - {same_number})
        token, mu = drawn(case, 10.0)
        samples = sample(case)
        assert token in case.allowed
        assert samples.rows["token_id"][0] == token
        assert samples.rows["mu"][0] == pytest.approx(mu, abs=1e-4)


@pytest.mark.parametrize("version", [1, 2])
def test_greedy_sampling_overrides_mirostat_and_keeps_its_state(version: int) -> None:
    case = make_case(1, temperature=0.0, mirostat=version)
    case.mu = 3.25
    samples = sample(case)
    assert samples.rows["token_id"][0] == np.argmax(case.logits)
    assert samples.rows["mu"][0] == 3.25


def test_one_token_remains_if_mu_is_below_every_surprise() -> None:
    logits = np.zeros(VOCAB, dtype=np.float32)
    for seed in range(20):
        params = SamplingParams(max_tokens=9, seed=seed, temperature=1.0, mirostat=2, mirostat_eta=0.5)
        samples = sample(Case(logits, params, mu=-4.0))
        assert samples.rows["token_id"][0] == 0, "the lowest id of equals"
        assert samples.rows["mu"][0] == -4.0 + 0.5 * 5.0


def test_a_uniform_row_keeps_all_tokens() -> None:
    logits = np.zeros(VOCAB, dtype=np.float32)
    params = SamplingParams(max_tokens=9, temperature=1.0, mirostat=1)
    tokens = {sample_one(Case(logits, replace(params, seed=seed), mu=1.0)) for seed in range(100)}
    assert len(tokens) > 50


def test_an_exponent_of_one_uses_the_limit_of_the_formula() -> None:
    """A Zipf law of exponent 1: k tends to 2^mu / ln N."""
    logits = -np.log(np.arange(VOCAB) + 1).astype(np.float32)
    mu = 7.0
    expected = int(2**mu / math.log(VOCAB))
    params = SamplingParams(max_tokens=9, temperature=1.0, mirostat=1)
    tokens = {sample_one(Case(logits, replace(params, seed=seed), mu=mu)) for seed in range(400)}
    assert max(tokens) <= expected
    assert len(tokens) > expected // 2


@pytest.mark.parametrize("version", [1, 2])
def test_the_surprise_is_steered_towards_tau(version: int) -> None:
    surprises = []
    mu: float | None = None
    for step in range(300):
        params = SamplingParams(
            max_tokens=9, seed=step, temperature=1.0, mirostat=version, mirostat_tau=2.0, mirostat_eta=0.2
        )
        case = Case(make_case(step, scale=1.5, vocab=1000).logits, params, mu=mu)
        samples = sample(case)
        _, probabilities = kept_by_mirostat(case, 4.0 if mu is None else mu)
        before, mu = 4.0 if mu is None else mu, float(samples.rows["mu"][0])
        surprises.append((before - mu) / 0.2 + 2.0)
        assert len(probabilities) >= 1
    assert np.mean(surprises[50:]) == pytest.approx(2.0, abs=0.2)
