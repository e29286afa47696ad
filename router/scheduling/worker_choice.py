"""Chooses the next waiting job and its worker: by cached prefixes, within a bound of imbalance."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from cactus_actors.router.scheduling.free_capacity import NO_CAPACITY, FreeCapacity
from cactus_actors.router.scheduling.prefix_index import PrefixIndex

LOOKAHEAD = 8
HEAD_OF_LINE_AFTER_S = 2.0
BLOCKS_PER_SLOT = 2
"""A worker may have one free slot less than the emptiest for every BLOCKS_PER_SLOT additional cached blocks."""

MAX_IMBALANCE = 0.5
"""The largest such difference, as a share of the worker's slots."""


class Candidate(msgspec.Struct, frozen=True, gc=False):
    """One of the first waiting jobs: its prompt's block hashes, and the blocks that it needs."""

    block_hashes: Sequence[int]
    num_blocks: int


class WorkerChoice(msgspec.Struct, frozen=True, gc=False):
    """A candidate's worker; `gain` is in blocks: those cached there, less those that only others have."""

    index: int
    worker_id: str
    gain: int


def choose_worker(candidates: Sequence[Candidate], offers: FreeCapacity, prefixes: PrefixIndex) -> WorkerChoice | None:
    """The candidate that gains most, the earliest on ties; None if none fits anywhere."""
    best: WorkerChoice | None = None
    for index, candidate in enumerate(candidates):
        if not offers.has_blocks(candidate.num_blocks):
            continue
        num_anywhere = prefixes.num_held(candidate.block_hashes)
        if num_anywhere:
            placement = _placement_of(index, candidate, num_anywhere, offers, prefixes)
        elif best is None or best.gain < 0:
            placement = WorkerChoice(index, offers.emptiest(candidate.num_blocks), 0)
        else:
            continue
        if best is None or placement.gain > best.gain:
            best = placement
    return best


def _placement_of(
    index: int, candidate: Candidate, num_anywhere: int, offers: FreeCapacity, prefixes: PrefixIndex
) -> WorkerChoice:
    """The emptiest worker, or a fuller one whose additional cached blocks of the prompt outweigh that.

    Some worker holds `num_anywhere` blocks of the prompt.
    """
    hashes, num_blocks = candidate.block_hashes, candidate.num_blocks
    emptiest = offers.emptiest(num_blocks)

    def num_slots(worker_id: str) -> int:
        return offers.num_slots(worker_id, num_blocks)

    num_held, holders = prefixes.longest(hashes[:num_anywhere], lambda worker_id: num_slots(worker_id) > NO_CAPACITY)
    holder = max(holders, key=num_slots, default=emptiest)
    num_more = num_held - prefixes.longest(hashes[:num_held], lambda worker_id: worker_id == emptiest)[0]
    bound = min(num_more // BLOCKS_PER_SLOT, int(MAX_IMBALANCE * offers.worker(holder).hello.num_slots))
    if num_slots(emptiest) - num_slots(holder) > bound:
        holder, num_held = emptiest, num_held - num_more
    return WorkerChoice(index, holder, num_held - (num_anywhere - num_held))
