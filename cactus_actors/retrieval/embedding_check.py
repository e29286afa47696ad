"""Checks that embeddings find each chunk by its own last sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MAX_PROBES = 32
NUM_BEST = 5
MIN_SHARE = 0.8

_BREAK = re.compile(r"(?<=[.!?…。！？])\s+|\n\s*\n")


class EmbeddingCheck(NamedTuple):
    """A part of the text of chunk `number`."""

    number: int
    text: str


def embedding_checks_of(texts: Sequence[str]) -> list[EmbeddingCheck]:
    """The last sentences of at most MAX_PROBES of the texts, evenly spread; none of a single sentence."""
    step = max(1, len(texts) // MAX_PROBES)
    probes = []
    for number in range(0, len(texts), step)[:MAX_PROBES]:
        sentences = [part.strip() for part in _BREAK.split(texts[number]) if part.strip()]
        if len(sentences) > 1:
            probes.append(EmbeddingCheck(number, sentences[-1]))
    return probes


def embeddings_find(
    vectors: NDArray[np.float32], probes: Sequence[EmbeddingCheck], probe_vectors: NDArray[np.float32]
) -> bool:
    """True if MIN_SHARE of the probes have their own text among the NUM_BEST nearest, or without probes.

    Embeddings of language models often fail this, and their ranking would then degrade a fused one.
    """
    if not probes:
        return True
    similarities = probe_vectors @ vectors.T
    own = similarities[np.arange(len(probes)), [probe.number for probe in probes]]
    num_nearer = (similarities > own[:, None]).sum(axis=1)
    return bool((num_nearer < NUM_BEST).mean() >= MIN_SHARE)
