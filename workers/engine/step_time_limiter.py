"""Limits the tokens of a step, so that the router gets heartbeats in time."""

from __future__ import annotations

from cactus_actors.config import HEARTBEAT_S

MAX_STEP_S = HEARTBEAT_S
SLOW_CORE_MULTIPLIES_PER_S = 2e10
"""Weights times tokens per second of a core without special instructions."""


class StepTimeLimiter:
    """A token budget of at most `max_tokens` that keeps steps below about `max_step_s` seconds.

    A step cannot be interrupted, and a worker without heartbeats counts as dead: a large model must prefill in
    smaller chunks. Generated tokens do not depend on the chunks.
    """

    def __init__(self, max_tokens: int, num_weights: int, max_step_s: float = MAX_STEP_S) -> None:
        self._max_tokens = max_tokens
        self._max_step_s = max_step_s
        self.token_budget = self._bounded(SLOW_CORE_MULTIPLIES_PER_S * max_step_s / num_weights)

    def on_step(self, num_tokens: int, seconds: float) -> None:
        """Record that a step of `num_tokens` tokens took `seconds`."""
        if seconds > self._max_step_s:
            self.token_budget = self._bounded(num_tokens * self._max_step_s / seconds)
        elif seconds < self._max_step_s / 4 and num_tokens >= self.token_budget:
            self.token_budget = self._bounded(2 * self.token_budget)

    def _bounded(self, num_tokens: float) -> int:
        return max(1, int(min(self._max_tokens, num_tokens)))
