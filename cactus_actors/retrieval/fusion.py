"""Combines several rankings into one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

RANK_CONSTANT = 60


def fuse(rankings: Sequence[Sequence[int]]) -> list[tuple[int, float]]:
    """Reciprocal rank fusion (Cormack, Clarke and Büttcher 2009): numbers with scores, best first.

    The score is the sum of 1 / (60 + rank) over the rankings that a number is in, ranks from 1 on; of equal
    scores the smaller number comes first.
    """
    scores: defaultdict[int, float] = defaultdict(float)
    for ranking in rankings:
        for rank, number in enumerate(ranking, start=1):
            scores[number] += 1 / (RANK_CONSTANT + rank)
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))
