"""Forecasts the cache blocks that sequences will need, from their lengths and those of ended ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

import numpy as np

from cactus_actors.workers.engine.block_pool import BlockPool
from cactus_actors.workers.engine.sequence import Sequence

MEMORY = 64
"""The number of ended sequences that the means of their lengths remember, about."""
MARGIN = 1.25
"""Room is kept for this times the tokens that sequences are expected to generate."""


class Need(NamedTuple):
    """Tokens of a sequence, how many more it is expected to have in the cache at its end, and blocks that it shares."""

    num_tokens: int
    num_more: int
    num_shared: int
    block_size: int

    @property
    def num_own_blocks(self) -> int:
        """Blocks of its tokens that it does not share."""
        return -(-self.num_tokens // self.block_size) - self.num_shared


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
        return self._num_left(running, [self._need_of(newcomer, len(cached))], num_found) >= 0

    def num_spare(self, running: Collection[Sequence], waiting: Iterable[Sequence]) -> int:
        """Blocks that these sequences neither hold nor are expected to need."""
        newcomers = [self._need_of(each, 0) for each in waiting]
        if not running and not newcomers:
            return self._block_pool.num_free
        return max(0, self._num_left(running, newcomers, 0))

    def _need_of(self, sequence: Sequence, num_shared: int) -> Need:
        left = self._mean - sequence.num_completion_tokens
        if self._mean:
            left = max(left, self._mean_square / (2 * self._mean))
        num_more = int(min(MARGIN * left, sequence.num_tokens_left)) - 1  # the last token is not in the cache
        return Need(sequence.num_tokens, max(0, num_more), num_shared, sequence.block_size)

    def _num_left(self, running: Collection[Sequence], newcomers: list[Need], num_found: int) -> int:
        """Blocks that are left beside running sequences and newcomers, below 0 if some are missing.

        Newcomers share `num_found` blocks that nobody holds.
        """
        num_blocks = self._block_pool.num_blocks
        needs = [self._need_of(each, each.num_reused_blocks) for each in running]
        num_held = num_blocks - self._block_pool.num_free
        num_shared = max(0, num_held - sum(len(each.block_table) - each.num_reused_blocks for each in running))
        next_step = num_held + num_found + sum(need.num_own_blocks for need in newcomers) + len(running)
        # All grow alike. When one ends, those that are to generate fewer tokens have ended before.
        tokens, more, shared, size = np.array(sorted(needs + newcomers, key=lambda need: -need.num_more)).T
        blocks = -(-(tokens[:, None] + more) // size[:, None]) - shared[:, None]
        later = num_shared + num_found + int(np.triu(blocks).sum(axis=0).max())
        return num_blocks - max(next_step, later)
