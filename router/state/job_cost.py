"""The cost of a job for a worker, in generated tokens."""

from __future__ import annotations

PROMPT_COST = 0.25
"""The cost of a prompt token, relative to a generated one: a step computes many prompt tokens at once."""

MAX_GENERATED = 512
"""Cap of the estimate: few jobs generate more."""


def cost_of(num_prompt_tokens: float, max_tokens: int) -> float:
    """The largest cost of a job, as estimated before it runs."""
    return work_of(num_prompt_tokens, min(max_tokens, MAX_GENERATED))


def work_of(num_prompt_tokens: float, num_generated: float) -> float:
    """The work of computing a prompt and of generating `num_generated` tokens."""
    return PROMPT_COST * num_prompt_tokens + num_generated + 1.0


def must_generate(max_tokens: int, min_tokens: int, ignore_eos: bool) -> int:
    """Tokens that a job generates unless a stop sequence or a grammar ends it."""
    return max_tokens if ignore_eos else max(0, min_tokens)
