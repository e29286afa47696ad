"""How many tokens a step may compute, so that the router hears of this worker in time."""

from __future__ import annotations

from cactus_actors.config import HEARTBEAT_S

MAX_STEP_S = HEARTBEAT_S
SLOW_CORE_MULTIPLIES_PER_S = 2e10
"""Weights times tokens that a core without special instructions computes in a second."""


class StepTimeLimiter:
    """A token budget, at most `max_tokens`, under which a step lasts about `max_step_s` seconds at most.

    A step cannot be interrupted, and a worker that is silent for long counts as dead: a big model must take
    a prompt in smaller chunks. What is generated does not depend on how a prompt is cut.
    """

    def __init__(self, max_tokens: int, num_weights: int, max_step_s: float = MAX_STEP_S) -> None:
        self._max_tokens = max_tokens
        self._max_step_s = max_step_s
        self.token_budget = self._bounded(SLOW_CORE_MULTIPLIES_PER_S * max_step_s / num_weights)

    def on_step(self, num_tokens: int, seconds: float) -> None:
        """A step of so many tokens took so long."""
        if seconds > self._max_step_s:
            self.token_budget = self._bounded(num_tokens * self._max_step_s / seconds)
        elif seconds < self._max_step_s / 4 and num_tokens >= self.token_budget:
            self.token_budget = self._bounded(2 * self.token_budget)

    def _bounded(self, num_tokens: float) -> int:
        return max(1, int(min(self._max_tokens, num_tokens)))
