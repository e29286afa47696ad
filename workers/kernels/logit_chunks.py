"""Chunks and parts of a row of logits, and its statistics."""

from __future__ import annotations

CHUNK = 64
PART = 1024


def logit_stats_width(num_logits: int) -> int:
    """Floats of the statistics of a row of logits: the largest logit of each chunk, then four numbers of each part.

    These are, one kind after the other, the largest logit, the sum of w = exp(logit - largest), the sum of
    w * log2(w), and a zero if all logits are finite. No w is below 2^-126.
    """
    return -(-num_logits // CHUNK) + 4 * -(-num_logits // PART)
