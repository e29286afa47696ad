"""The tokens of prompts in a step in which others generate: answers wait for them."""

from __future__ import annotations

FEWEST_TOKENS, MOST_TOKENS = 24, 128
"""Beside a few answers, a step with the fewest takes less than twice as long: it reads the weights either way."""

TOKENS_PER_ANSWER = 3
"""Beside many answers, so many tokens for each of them are computed in about twice the time of the answers."""

MAX_STEPS = 16
"""A step has more where more prompts wait, so that these are computed in about so many steps."""

ROWS_TOGETHER = 8
"""Kernels multiply so many rows at once, and a few more rows in about the same time."""


def tokens_beside_answers(num_answers: int, num_waiting: int) -> int:
    """Tokens of prompts in a step in which so many sequences generate and so many tokens of prompts wait.

    With more of them, fewer steps have any: answers pause in these, and no token comes sooner on average. With fewer,
    prompts that are several times longer than their answers would wait ever longer.
    """
    wanted = max(FEWEST_TOKENS, TOKENS_PER_ANSWER * num_answers, num_waiting // MAX_STEPS)
    num_tokens = min(MOST_TOKENS, wanted)
    return num_tokens - (num_answers + num_tokens) % ROWS_TOGETHER
