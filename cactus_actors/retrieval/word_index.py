"""Ranks chunks by the words that they share with a query: BM25."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

PREFIX = 4
"""Words also count by this number of first letters: "sing" is in singers and in sings."""

_WORD = re.compile(r"\w+")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2,}")


class WordIndex:
    """BM25 (Robertson and Zaragoza 2009; Lucene's variant, k1 1.5, b 0.75) over `terms_of` each text."""

    def __init__(self, texts: Sequence[str]) -> None:
        import bm25s

        self._ranker: Any = None
        terms = [terms_of(text) for text in texts]
        if any(terms):
            self._ranker = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
            self._ranker.index(terms, show_progress=False)

    def rank(self, query: str, limit: int) -> list[int]:
        """The numbers of the best chunks, best first; those that share no term are not among them."""
        terms = terms_of(query)
        if self._ranker is None or not terms:
            return []
        scores = self._ranker.get_scores(terms)
        order = np.argsort(-scores, kind="stable")[:limit]
        return [int(number) for number in order if scores[number] > 0]


def terms_of(text: str) -> list[str]:
    """The search terms of a text: its words, except the commonest English ones, and their beginnings.

    Case and a plural's s do not count. Scripts without spaces count by pairs of characters.
    """
    from bm25s.stopwords import STOPWORDS_EN_PLUS

    common = frozenset(STOPWORDS_EN_PLUS)
    return [
        term
        for word in map(str.lower, _WORD.findall(text))
        if (len(word) > 1 or word.isdigit()) and word not in common
        for term in _terms_of_word(word)
    ]


def _terms_of_word(word: str) -> Iterator[str]:
    if _UNSPACED.search(word):
        for run in _UNSPACED.findall(word):
            yield from (run[start : start + 2] for start in range(len(run) - 1))
        return
    is_plural = len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is"))
    yield word[:-1] if is_plural else word
    if len(word) >= PREFIX and not word.isdigit():
        yield f"{word[:PREFIX]}*"
