"""Which waiting job joins which running batch next. A pure function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

LOOKAHEAD = 8
PATIENCE_S = 2.0


@dataclass(frozen=True, slots=True)
class Vacancy:
    """A worker that could take a job: free slots, free cache blocks, and whether one more may wait there."""

    worker_id: str
    free_slots: int
    free_blocks: int
    has_deck: bool
    is_idle: bool


@dataclass(frozen=True, slots=True)
class Candidate:
    """One of the first waiting jobs, in the queue's order."""

    job_id: str
    num_blocks: int
    waited_s: float


CachedBlocks = Callable[[str, int], int]
"""(worker id, index of the candidate) -> leading blocks of its prompt that the worker holds."""


def place(
    vacancies: Sequence[Vacancy], candidates: Sequence[Candidate], cached: CachedBlocks
) -> tuple[str, int] | None:
    """The worker id and the index of the candidate that goes there, or None if nothing can be placed.

    The worker with most free slots is served first, so that load stays even; it gets the candidate with the
    longest cached prefix, the earliest on ties. A first candidate that waited PATIENCE_S goes before all
    others. Only when nothing fits now is a job put on deck.
    """
    if not candidates:
        return None
    considered = range(1) if candidates[0].waited_s >= PATIENCE_S else range(len(candidates))
    pairs = [
        (vacancy, index)
        for vacancy in vacancies
        if vacancy.free_slots > 0
        for index in considered
        if vacancy.is_idle or candidates[index].num_blocks <= vacancy.free_blocks
    ]
    if not pairs:
        pairs = [(vacancy, index) for vacancy in vacancies if vacancy.has_deck for index in considered]
    if not pairs:
        return None
    most_free = max(vacancy.free_slots for vacancy, _ in pairs)
    vacancy, index = max(
        (pair for pair in pairs if pair[0].free_slots == most_free),
        key=lambda pair: (cached(pair[0].worker_id, pair[1]), -pair[1]),
    )
    return vacancy.worker_id, index
