"""Which tokens of a step read the cache together in attention: tiles, and groups of tiles with common first blocks."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cactus_actors.workers.engine.step_batch import Batch
from cactus_actors.workers.kernels.attention_items import GROUP
from cactus_actors.workers.spec.model_config import ModelConfig

TOKENS_PER_TILE = 8
"""Consecutive tokens of a sequence in one tile of attention."""

MIN_SHARED_POSITIONS = 256
"""With fewer of them in common, sequences are better divided among the threads."""

TASKS_PER_THREAD = 2
"""Tasks of a group and a key-value head that each thread gets at least, if there are so many sequences."""

Tiles = NDArray[np.int32]
Groups = NDArray[np.int32]


class AttentionGroups:
    """Divides the tokens of a step into tiles and groups; results of attention do not depend on them.

    Sequences are in one group if the prefix cache or a fork gave them the same first blocks.
    """

    def __init__(self, config: ModelConfig, threads: int) -> None:
        heads = [config.heads, *map(config.heads_of, config.layers)]
        self._max_tokens = min(GROUP // (each.num_heads // each.num_kv_heads) for each in heads)
        self._num_pieces = -(-threads * TASKS_PER_THREAD // config.heads.num_kv_heads)
        self._alone = groups_of_one(16)

    def of(self, batch: Batch, block_size: int) -> tuple[Tiles, Groups]:
        """`StepInputs.tiles` and `StepInputs.groups` of a batch."""
        begins = _begins_of_runs(batch.sequence_of_token)
        firsts = [tile for first, end in pairwise(begins) for tile in range(first, end, TOKENS_PER_TILE)]
        tiles = np.empty((len(firsts), 2), np.int32)
        tiles[:, 0], tiles[:-1, 1], tiles[-1, 1] = firsts, firsts[1:], begins[-1]
        if len(firsts) > len(self._alone):
            self._alone = groups_of_one(2 * len(firsts))
        min_blocks = -(-MIN_SHARED_POSITIONS // block_size)
        if batch.block_tables.shape[1] < min_blocks:
            return tiles, self._alone[: len(tiles)]
        starts = np.array(begins)
        sets = self._shared_sets(batch, starts, min_blocks, block_size)
        if not sets:
            return tiles, self._alone[: len(tiles)]
        members = [np.searchsorted(firsts, starts[runs]) for runs, _ in sets]
        alone = np.setdiff1d(np.arange(len(tiles)), np.concatenate(members))
        ends = np.cumsum([len(each) for each in members])
        groups = groups_of_one(len(members) + len(alone))
        groups[: len(members), 0], groups[: len(members), 1] = np.append(0, ends[:-1]), ends
        groups[: len(members), 2] = [num_blocks for _, num_blocks in sets]
        groups[len(members) :, :2] += ends[-1] - len(members)
        return tiles[np.concatenate([*members, alone])], groups

    def _shared_sets(
        self, batch: Batch, begins: NDArray[np.intp], min_blocks: int, block_size: int
    ) -> list[tuple[NDArray[np.intp], int]]:
        """Runs of a few tokens each whose sequences share blocks, and how many; large sets are divided."""
        num_tokens, num_filled = np.diff(begins), batch.positions[begins[:-1]] // block_size
        are_few = num_tokens <= min(self._max_tokens // 2, TOKENS_PER_TILE)
        runs = np.flatnonzero(are_few & (num_filled >= min_blocks))
        tables = batch.block_tables[batch.sequence_of_token[begins[runs]]]
        if len(set(tables[:, min_blocks - 1].tolist())) == len(runs):
            return []
        order = np.array(sorted(range(len(runs)), key=lambda run: tables[run].tobytes()))
        runs, tables = runs[order], tables[order]
        differs = tables[1:] != tables[:-1]
        common = np.where(differs.any(axis=1), differs.argmax(axis=1), tables.shape[1])
        num_filled = num_filled[runs]
        common = np.minimum(common, np.minimum(num_filled[1:], num_filled[:-1]))
        sets = _sets_of(common.tolist(), min_blocks)
        num_pieces = -(-self._num_pieces // max(len(sets), 1))
        pieces = [
            (first + start, first + stop)
            for first, end in sets
            for start, stop in _pieces_of(num_tokens[runs[first:end]].tolist(), num_pieces, self._max_tokens)
        ]
        return [(runs[first:end], int(common[first : end - 1].min())) for first, end in pieces if end - first > 1]


def groups_of_one(count: int) -> Groups:
    """Groups of a tile each."""
    tiles = np.arange(count, dtype=np.int32)
    return np.stack([tiles, tiles + 1, np.zeros_like(tiles)], axis=1)


def _begins_of_runs(sequence_of_token: NDArray[np.int32]) -> list[int]:
    """The first token of each sequence, and the number of tokens."""
    (before_first,) = (sequence_of_token[1:] != sequence_of_token[:-1]).nonzero()
    return [0, *(before_first + 1).tolist(), len(sequence_of_token)]


def _pieces_of(num_tokens: list[int], num_pieces: int, max_tokens: int) -> list[tuple[int, int]]:
    """Ranges of about as many tokens each, at most `max_tokens`: `num_pieces`, or half as many as runs, or more."""
    pieces: list[tuple[int, int]] = []
    first, num_left = 0, sum(num_tokens)
    num_pieces = max(-(-num_left // max_tokens), min(num_pieces, len(num_tokens) // 2))
    while first < len(num_tokens):
        size = min(max_tokens, -(-num_left // max(num_pieces - len(pieces), 1)))
        end, total = first + 1, num_tokens[first]
        while end < len(num_tokens) and total + num_tokens[end] <= size:
            end, total = end + 1, total + num_tokens[end]
        pieces.append((first, end))
        first, num_left = end, num_left - total
    return pieces


def _sets_of(common: list[int], min_blocks: int) -> list[tuple[int, int]]:
    """Ranges of neighbours that save the most reads; `common` has the number of blocks that two neighbours share.

    Neighbours that share the most are joined first, and then sets, as long as the joined one saves no less.
    """
    count = len(common) + 1
    end_of, saved = list(range(1, count + 1)), [0] * count
    first_of = [end - 1 for end in range(count + 1)]  # of the set that ends there
    for left in sorted(range(len(common)), key=lambda neighbour: -common[neighbour]):
        first, end = first_of[left + 1], end_of[left + 1]
        together = common[left] * (end - first - 1)
        if common[left] >= min_blocks and together >= saved[first] + saved[left + 1]:
            first_of[end], end_of[first], saved[first] = first, end, together
    sets, first = [], 0
    while first < count:
        if end_of[first] - first > 1:
            sets.append((first, end_of[first]))
        first = end_of[first]
    return sets
