"""Forecasts the cache blocks that sequences will need, from their lengths and those of ended ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TypeAlias

import numpy as np

from cactus_actors.workers.engine.block_pool import BlockPool
from cactus_actors.workers.engine.sequence import Sequence

MEMORY = 64
"""The number of ended sequences that the means of their lengths remember, about."""
MARGIN = 1.25
"""Room is kept for this times the tokens that sequences are expected to generate."""


Need: TypeAlias = tuple[int, int, int]
"""How many more tokens of a sequence are expected in the cache at its end, its tokens, and blocks that it shares."""


class CacheForecast:
    """The most blocks that sequences will hold at once, until all of them have ended.

    A new sequence is expected to generate as many tokens as ended ones did on average. One that runs is expected to
    generate the rest of that, or what sequences that run at some moment have left on average, if that is more: at most
    moments long ones run. None generates more than it may. A cached prefix, which others may hold as well, is not
    expected to be free before the last sequence has ended.
    """

    def __init__(self, block_pool: BlockPool) -> None:
        self._block_pool = block_pool
        self._num_ended = 0
        self._mean = self._mean_square = 0.0  # of the tokens that they generated

    def on_ended(self, sequence: Sequence) -> None:
        """Record the length of a sequence that ran."""
        if sequence.max_tokens > 0:
            self._num_ended += 1
            length, weight = sequence.num_completion_tokens, 1 / min(self._num_ended, MEMORY)
            self._mean += (length - self._mean) * weight
            self._mean_square += (length**2 - self._mean_square) * weight

    def has_room(self, running: Collection[Sequence], newcomer: Sequence, cached: list[int]) -> bool:
        """True if a sequence whose first blocks are `cached` fits beside those that run.

        One that is to run alone needs room for its known tokens only.
        """
        num_found = self._block_pool.num_free_among(cached)
        if not running:
            return newcomer.num_blocks_needed - len(cached) + num_found <= self._block_pool.num_free
        # Most often there is room for the most that each of them may take, at its end or in the next step.
        if sum(each.max_blocks + 1 for each in running) + newcomer.max_blocks <= self._block_pool.num_blocks:
            return True
        return self._num_left(running, [self._need_of(newcomer, len(cached))], num_found, newcomer.block_size) >= 0

    def num_spare(self, running: Collection[Sequence], waiting: Iterable[Sequence]) -> int:
        """Blocks that these sequences neither hold nor are expected to need."""
        newcomers = [*waiting]
        any_sequence = next(iter((*running, *newcomers)), None)
        if any_sequence is None:
            return self._block_pool.num_free
        needs = [self._need_of(each, 0) for each in newcomers]
        return max(0, self._num_left(running, needs, 0, any_sequence.block_size))

    def _need_of(self, sequence: Sequence, num_shared: int) -> Need:
        num_generated = sequence.num_tokens - sequence.num_prompt_tokens
        left = self._mean - num_generated
        if self._mean:
            left = max(left, self._mean_square / (2 * self._mean))
        # The last token is not in the cache.
        num_more = int(min(MARGIN * left, sequence.max_tokens - num_generated)) - 1
        return max(0, num_more), sequence.num_tokens, num_shared

    def _num_left(self, running: Collection[Sequence], newcomers: list[Need], num_found: int, block_size: int) -> int:
        """Blocks that are left beside running sequences and newcomers, below 0 if some are missing.

        Newcomers share `num_found` blocks that nobody holds.
        """
        num_blocks = self._block_pool.num_blocks
        needs = [self._need_of(each, each.num_reused_blocks) for each in running]
        num_held = num_blocks - self._block_pool.num_free
        num_shared = max(0, num_held - sum(len(each.block_table) - each.num_reused_blocks for each in running))
        num_of_newcomers = sum(-(-num_tokens // block_size) - shared for _, num_tokens, shared in newcomers)
        next_step = num_held + num_found + num_of_newcomers + len(running)
        # All grow alike. When one ends, those that are to generate fewer tokens have ended before.
        more, tokens, shared = np.array(sorted(needs + newcomers, reverse=True)).T
        blocks = -(-(tokens[:, None] + more) // block_size) - shared[:, None]
        later = num_shared + num_found + int(blocks.cumsum(axis=0).diagonal().max())
        return num_blocks - max(next_step, later)
