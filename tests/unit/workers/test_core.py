"""Outputs of an engine other than tokens and text: probabilities, mirostat's state, memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from cactus_actors.protocol.worker_messages import Finish, Hello, Report, SequenceDelta, Welcome
from cactus_actors.workers.engine.cache_forecast import CacheForecast
from cactus_actors.workers.session import MAX_FORECAST_AGE, WorkerSession
from tests.support.models.counting_engine import NOT_FINITE, VOCAB, dispatch, error_type, make_engine, run

NEXT, NEXT_BUT_ONE, OTHER = 9.0, 8.0, 0.0


def logprob(logit: float) -> float:
    """The log-probability of a token with this logit, after any token of the counting model."""
    return logit - math.log(math.exp(NEXT) + math.exp(NEXT_BUT_ONE) + (VOCAB - 2))


def prompt_logprobs(deltas: list[SequenceDelta]) -> list[tuple[float, list[tuple[int, float]]]]:
    """All log-probabilities of the prompt, piece by piece without a gap."""
    told: list[tuple[float, list[tuple[int, float]]]] = []
    for delta in deltas:
        if delta.extras is not None and delta.extras.prompt:
            assert delta.extras.prompt_position == len(told)
            told += delta.extras.prompt
    return told


def test_likely_tokens_are_reported_only_if_requested() -> None:
    for delta in run(make_engine(), dispatch([3], num_logprobs=2)):
        assert delta.extras is not None
        ((first, second),) = delta.extras.top
        assert [first[0], second[0]] == [delta.token_ids[0], delta.token_ids[0] + 1]
        assert [first[1], second[1]] == pytest.approx([logprob(NEXT), logprob(NEXT_BUT_ONE)], abs=1e-6)
    for num_logprobs in (-1, 0):
        assert all(d.extras is None for d in run(make_engine(), dispatch([3], num_logprobs=num_logprobs)))


@pytest.mark.parametrize("token_budget", [1, 4, 32])
@pytest.mark.parametrize("max_tokens", [0, 3])
def test_a_prompt_is_scored_token_by_token(token_budget: int, max_tokens: int) -> None:
    prompt_ids = [3, 4, 6, 1, 2, 3, 4, 5, 7]
    expected = [NEXT, NEXT_BUT_ONE, OTHER, NEXT, NEXT, NEXT, NEXT, NEXT_BUT_ONE]
    engine = make_engine(token_budget=token_budget)
    job = dispatch(prompt_ids, max_tokens=max_tokens, prompt_logprobs=True, num_logprobs=1)
    for _ in range(2):  # the second time its prefix is cached, and must be computed nevertheless
        deltas = run(engine, job)
        first, *others = prompt_logprobs(deltas)
        assert math.isnan(first[0])
        assert first[1] == []
        assert [value for value, _ in others] == pytest.approx([logprob(x) for x in expected], abs=1e-6)
        assert [top[0][0] for _, top in others] == [token + 1 for token in prompt_ids[:-1]]
        assert [t for delta in deltas for t in delta.token_ids] == [8, 9, 10][:max_tokens]
        assert deltas[-1].finish == Finish("length")
        assert deltas[-1].cached_tokens == 0
    assert engine.free_blocks == 32


def test_a_prompt_of_one_token_has_no_probability() -> None:
    (delta,) = run(make_engine(), dispatch([3], max_tokens=0, prompt_logprobs=True))
    ((value, top),) = prompt_logprobs([delta])
    assert math.isnan(value)
    assert top == []


def test_a_prompt_is_scored_once() -> None:
    job = dispatch([3, 4, 5], emitted_ids=(6, 7), prompt_logprobs=True)
    assert prompt_logprobs(run(make_engine(), job)) == []


def test_a_long_prompt_is_scored_a_few_rows_per_step() -> None:
    engine = make_engine(token_budget=64)
    jobs = [dispatch([1] * 50, dispatch_id=i, max_tokens=1, prompt_logprobs=True) for i in range(3)]
    told = [d for d in run(engine, *jobs) if d.dispatch_id == 2 and d.extras is not None]
    assert len(prompt_logprobs(told)) == 50


def test_a_prompt_whose_logits_are_not_finite_fails_alone() -> None:
    bad = dispatch([1, NOT_FINITE, 3, 4], dispatch_id=1, prompt_logprobs=True)
    deltas = run(make_engine(), bad, dispatch([3], dispatch_id=2))
    (failed,) = [delta for delta in deltas if delta.dispatch_id == 1]
    assert error_type(failed) == "model_error"
    assert [t for d in deltas if d.dispatch_id == 2 for t in d.token_ids] == [4, 5, 6, 7, 8]


def test_mirostat_reports_its_state_and_continues_from_it() -> None:
    job = dispatch([3], max_tokens=12, temperature=1.0, seed=4, mirostat=2, mirostat_tau=1.5)
    whole = run(make_engine(), job)
    states = [delta.extras.mirostat_mu for delta in whole if delta.extras is not None]
    assert len(set(states)) > 3
    emitted = [delta.token_ids[0] for delta in whole[:5]]
    assert run(make_engine(), replace(job, emitted_ids=emitted, mirostat_mu=states[4])) == whole[5:]
    assert run(make_engine(), replace(job, emitted_ids=emitted, mirostat_mu=0.1)) != whole[5:]


def test_greedy_sampling_has_no_mirostat_state() -> None:
    assert all(delta.extras is None for delta in run(make_engine(), dispatch([3], mirostat=1)))


def test_a_bias_on_an_unknown_token_is_refused() -> None:
    for token_id in (-1, VOCAB):
        (delta,) = run(make_engine(), dispatch([3], logit_bias=((token_id, 1.0),)))
        assert error_type(delta) == "invalid_request_error"


@pytest.mark.parametrize(("max_tokens", "reason"), [(3, "length"), (4, "model_length"), (50, "model_length")])
def test_the_end_of_the_context_and_max_tokens_have_different_reasons(max_tokens: int, reason: str) -> None:
    deltas = run(make_engine(), dispatch([1] * 60, max_tokens=max_tokens))
    assert deltas[-1].finish is not None
    assert deltas[-1].finish.reason == reason


def test_reports_have_the_memory_of_the_process() -> None:
    core = WorkerSession(make_engine(), Hello("w", "local", "m", 4, 32, 4, 64, "n", 1))
    core.begin(0.0)
    core.on_command(Welcome(1), 0.0)
    (report,) = core.on_tick(0.1)
    assert isinstance(report, Report)
    ballast = np.ones(512 << 20, dtype=np.uint8)  # far more than other allocations in the meantime
    assert core.on_tick(0.2) == [], "nothing new until the next heartbeat"
    (later,) = core.on_tick(5.0)
    assert isinstance(later, Report)
    assert later.ram_usage_mb - report.ram_usage_mb == pytest.approx(ballast.nbytes / 2**20, abs=128)


def test_the_cache_is_forecast_when_a_sequence_comes_or_ends_and_else_now_and_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    forecasts: list[int] = []
    forecast = CacheForecast.num_spare

    def noted(*given: Any) -> int:
        forecasts.append(forecast(*given))
        return forecasts[-1]

    monkeypatch.setattr(CacheForecast, "num_spare", noted)
    engine = make_engine()
    core = WorkerSession(engine, Hello("w", "local", "m", 4, 32, 4, 64, "n", 1))
    core.begin(0.0)
    core.on_command(Welcome(1), 0.0)
    (idle,) = core.on_tick(0.1)
    reports = []
    for dispatch_id in (1, 2):
        core.on_command(dispatch([3], dispatch_id=dispatch_id, max_tokens=36), 0.2)
        reports += [report for _ in range(36) for report in core.on_tick(0.2) if isinstance(report, Report)]
    assert [len(report.deltas) for report in reports] == [1] * 72
    assert isinstance(idle, Report)
    assert idle.free_blocks == 32
    assert reports[36].free_blocks == 32 - 9, "it is expected to become as long as the first one"
    assert reports[35].free_blocks == reports[71].free_blocks == engine.spare_blocks == 32
    assert len(forecasts) == 1 + 2 * (2 + 36 // MAX_FORECAST_AGE) + 1
