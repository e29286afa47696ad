"""What a job may cost a worker, in generated tokens."""

from __future__ import annotations

PROMPT_COST = 0.25
"""A prompt's token costs about this much of a generated one: a step computes many of them at once."""

MAX_GENERATED = 512
"""More than this is rarely generated, whatever a job allows itself."""


def cost_of(num_prompt_tokens: float, max_tokens: int) -> float:
    """The most that a job costs, as far as that can be known before it runs."""
    return PROMPT_COST * num_prompt_tokens + min(max_tokens, MAX_GENERATED) + 1.0
