"""Which waiting job goes to which worker next: by cached prefixes, within a bound of imbalance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from router.dispatch.offers import Offers
from router.dispatch.prefix_index import PrefixIndex

LOOKAHEAD = 8
PATIENCE_S = 2.0
MAX_IMBALANCE = 4
"""So many free slots fewer than the emptiest one the worker that holds a prefix may have."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One of the first waiting jobs: its prompt's block hashes, and the blocks that it needs."""

    block_hashes: Sequence[int]
    num_blocks: int


@dataclass(frozen=True, slots=True)
class Placement:
    """A candidate's worker; `gain` is in blocks: those cached there, less those that only others have."""

    index: int
    worker_id: str
    gain: int


def place(candidates: Sequence[Candidate], offers: Offers, prefixes: PrefixIndex) -> Placement | None:
    """The candidate that gains most, the earliest on ties; None if none fits anywhere."""
    best: Placement | None = None
    for index, candidate in enumerate(candidates):
        if offers.has_blocks(candidate.num_blocks):
            placement = _placement_of(index, candidate, offers, prefixes)
            if best is None or placement.gain > best.gain:
                best = placement
    return best


def _placement_of(index: int, candidate: Candidate, offers: Offers, prefixes: PrefixIndex) -> Placement:
    """On the worker that holds most of its prefix within the bound of imbalance, else on the emptiest."""
    num_blocks = candidate.num_blocks
    emptiest = offers.emptiest(num_blocks)
    num_anywhere, _ = prefixes.longest(candidate.block_hashes)
    if not num_anywhere:
        return Placement(index, emptiest, 0)
    min_slots = offers.num_slots(emptiest, num_blocks) - MAX_IMBALANCE

    def counts(worker_id: str) -> bool:
        return offers.num_slots(worker_id, num_blocks) >= min_slots

    num_here, holders = prefixes.longest(candidate.block_hashes[:num_anywhere], counts)
    worker_id = max(holders, key=lambda holder: offers.num_slots(holder, num_blocks), default=emptiest)
    return Placement(index, worker_id, num_here - (num_anywhere - num_here))
