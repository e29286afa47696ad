"""Ranking chunks by the words that they share with a query: BM25."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

_WORD = re.compile(r"\w+")


class WordIndex:
    """BM25 (Robertson and Zaragoza 2009; Lucene's variant, k1 1.5, b 0.75) over lower-cased words."""

    def __init__(self, texts: Sequence[str]) -> None:
        import bm25s

        self._ranker: Any = None
        tokens = [words_of(text) for text in texts]
        if any(tokens):
            self._ranker = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
            self._ranker.index(tokens, show_progress=False)

    def rank(self, query: str, limit: int) -> list[int]:
        """The numbers of the best chunks, best first; those that share no word are not among them."""
        words = words_of(query)
        if self._ranker is None or not words:
            return []
        scores = self._ranker.get_scores(words)
        order = np.argsort(-scores, kind="stable")[:limit]
        return [int(number) for number in order if scores[number] > 0]


def words_of(text: str) -> list[str]:
    """Words longer than a letter, lower-cased; a plural's s is taken off."""
    words = (word.lower() for word in _WORD.findall(text))
    return [_stem(word) for word in words if len(word) > 1 or word.isdigit()]


def _stem(word: str) -> str:
    is_plural = len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is"))
    return word[:-1] if is_plural else word
