"""The token budget that limits the duration of a worker's steps."""

from __future__ import annotations

import math

from cactus_actors.workers.engine.step_time_limiter import MAX_STEP_S, StepTimeLimiter

SMALL, BILLION = 10_000_000, 1_000_000_000


def test_a_small_model_begins_with_the_whole_budget_and_a_large_one_with_less() -> None:
    assert StepTimeLimiter(256, SMALL).token_budget == 256
    assert StepTimeLimiter(256, BILLION).token_budget == 20
    assert StepTimeLimiter(256, 1000 * BILLION).token_budget == 1
    assert StepTimeLimiter(256, BILLION, max_step_s=math.inf).token_budget == 256


def test_a_long_step_reduces_the_budget() -> None:
    pace = StepTimeLimiter(256, SMALL)
    pace.on_step(256, 8 * MAX_STEP_S)
    assert pace.token_budget == 32
    pace.on_step(32, 1000 * MAX_STEP_S)
    assert pace.token_budget == 1


def test_the_budget_grows_only_after_quick_steps_that_used_it_up() -> None:
    pace = StepTimeLimiter(256, BILLION)
    for num_tokens, seconds, expected in [
        (19, 0.0, 20),
        (20, 0.5 * MAX_STEP_S, 20),
        (20, 0.1 * MAX_STEP_S, 40),
        (40, 0.2 * MAX_STEP_S, 80),
        (80, 0.2 * MAX_STEP_S, 160),
        (160, 0.2 * MAX_STEP_S, 256),
        (256, 0.2 * MAX_STEP_S, 256),
    ]:
        pace.on_step(num_tokens, seconds)
        assert pace.token_budget == expected
