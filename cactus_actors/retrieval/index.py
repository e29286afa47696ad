"""Finding the chunks of a corpus that fit a query."""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cactus_actors.protocol.results import Source
from cactus_actors.retrieval.chunks import Chunk
from cactus_actors.retrieval.corpus import Corpus
from cactus_actors.retrieval.fusion import fuse
from cactus_actors.retrieval.probe import probes_of, proves_itself
from cactus_actors.retrieval.vectors import Embed, VectorStore
from cactus_actors.retrieval.words import WordIndex

_log = logging.getLogger(__name__)

NUM_CANDIDATES = 20
"""Of each ranking, so many go into the fused one."""


class Index:
    """BM25 and, with `embed`, the cosine of embeddings, fused by rank; follows the files as they change.

    Embeddings that do not find the corpus's own sentences in it only rank what shares no word with a query,
    behind what does. `model` names what `embed` is: vectors of another model are never mixed in. With `cache`
    the vectors are kept in that directory.
    """

    def __init__(
        self, corpus: Corpus, embed: Embed | None = None, *, model: str = "", cache: Path | None = None
    ) -> None:
        self._corpus = corpus
        self._embed = embed
        path = None if cache is None else cache / f"{_name(corpus.directory, model)}.npz"
        self._store = None if embed is None else VectorStore(embed, path)
        self._chunks: list[Chunk] = []
        self._words = WordIndex([])
        self._vectors: NDArray[np.float32] = np.zeros((0, 0), np.float32)
        self.trusts_embeddings = False
        self._take()

    @property
    def num_chunks(self) -> int:
        """Chunks that can be found."""
        return len(self._chunks)

    def query(self, text: str, top_k: int) -> list[Source]:
        """The `top_k` chunks that fit best, best first, after a look at whether files have changed.

        Scores are reciprocal ranks, added up over the rankings.
        """
        if self._corpus.refresh():
            self._take()
        rankings = self._rankings(text, max(top_k, NUM_CANDIDATES))
        return [
            Source(source=self._chunks[number].source, content=self._chunks[number].text, score=score)
            for number, score in fuse(rankings)[: max(0, top_k)]
        ]

    def _rankings(self, text: str, limit: int) -> list[list[int]]:
        words = self._words.rank(text, limit)
        if self._embed is None or not self._chunks or not text.strip():
            return [words]
        nearest = self._nearest(self._embed([text])[0], limit)
        if self.trusts_embeddings:
            return [words, nearest]
        return [[*words, *(number for number in nearest if number not in words)]]

    def _nearest(self, vector: NDArray[np.float32], limit: int) -> list[int]:
        order = np.argsort(-(self._vectors @ vector), kind="stable")[:limit]
        return [int(number) for number in order]

    def _take(self) -> None:
        """Index the corpus as it is now."""
        self._chunks = self._corpus.chunks
        texts = [chunk.text for chunk in self._chunks]
        self._words = WordIndex(texts)
        if self._store is not None:
            probes = probes_of(texts)
            vectors = self._store.of([*texts, *(probe.text for probe in probes)])
            self._vectors = vectors[: len(texts)]
            self.trusts_embeddings = proves_itself(self._vectors, probes, vectors[len(texts) :])
            if not self.trusts_embeddings:
                _log.info("the model's embeddings do not tell these documents apart; words come first")


def _name(directory: Path, model: str) -> str:
    return hashlib.blake2b(f"{directory}\0{model}".encode(), digest_size=16).hexdigest()
