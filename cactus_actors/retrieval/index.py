"""Finds the chunks of a corpus for a query."""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cactus_actors.protocol.results import Source
from cactus_actors.retrieval.corpus import Corpus
from cactus_actors.retrieval.document_chunks import DocumentChunk
from cactus_actors.retrieval.embedding_check import embedding_checks_of, embeddings_find
from cactus_actors.retrieval.fusion import fuse
from cactus_actors.retrieval.vector_store import Embed, VectorStore
from cactus_actors.retrieval.word_index import WordIndex

NUM_CANDIDATES = 20
"""Candidates of each ranking for the fused one."""
MAX_QUERY_CHARACTERS = 2000
"""A longer query is cut."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _State:
    """The corpus at its last refresh."""

    chunks: list[DocumentChunk]
    words: WordIndex
    vectors: NDArray[np.float32]  # (chunks, dimensions)
    trusts_embeddings: bool


class Index:
    """BM25 and, with `embed`, the cosine of embeddings, fused by rank; `refresh` indexes changed files.

    Embeddings that do not find the corpus's own sentences rank only chunks that share no word with a query,
    after those that do. `model` names the model of `embed`: vectors of another are never mixed in. With `cache`
    the vectors are kept in that directory.

    `refresh` may run in another thread than `query`.
    """

    def __init__(
        self, corpus: Corpus, embed: Embed | None = None, *, model: str = "", cache: Path | None = None
    ) -> None:
        self._corpus = corpus
        self._embed = embed
        path = None if cache is None else cache / f"{_name(corpus.directory, model)}.npz"
        self._store = None if embed is None else VectorStore(embed, path)
        self._state = self._state_now()

    @property
    def num_chunks(self) -> int:
        """Chunks that can be found."""
        return len(self._state.chunks)

    @property
    def trusts_embeddings(self) -> bool:
        """True if the embeddings distinguish these documents."""
        return self._state.trusts_embeddings

    def refresh(self) -> None:
        """Index changed files."""
        if self._corpus.refresh():
            self._state = self._state_now()

    def query(self, text: str, top_k: int) -> list[Source]:
        """The `top_k` chunks that fit best, best first; scores are reciprocal ranks, added up."""
        state = self._state
        rankings = self._rankings(state, text[:MAX_QUERY_CHARACTERS], max(top_k, NUM_CANDIDATES))
        return [
            Source(source=state.chunks[number].source, content=state.chunks[number].text, score=score)
            for number, score in fuse(rankings)[: max(0, top_k)]
        ]

    def _rankings(self, state: _State, text: str, limit: int) -> list[list[int]]:
        words = state.words.rank(text, limit)
        if self._embed is None or not state.chunks or not text.strip():
            return [words]
        similarities = state.vectors @ self._embed([text])[0]
        nearest = [int(number) for number in np.argsort(-similarities, kind="stable")[:limit]]
        if state.trusts_embeddings:
            return [words, nearest]
        return [[*words, *(number for number in nearest if number not in words)]]

    def _state_now(self) -> _State:
        chunks = self._corpus.chunks
        texts = [chunk.text for chunk in chunks]
        words = WordIndex(texts)
        if self._store is None:
            return _State(chunks, words, np.zeros((len(chunks), 0), np.float32), False)
        probes = embedding_checks_of(texts)
        vectors = self._store.of([*texts, *(probe.text for probe in probes)])
        own, of_probes = vectors[: len(texts)], vectors[len(texts) :]
        trusts_embeddings = embeddings_find(own, probes, of_probes)
        if not trusts_embeddings:
            _log.info("the model's embeddings do not separate these documents; words rank first")
        return _State(chunks, words, own, trusts_embeddings)


def _name(directory: Path, model: str) -> str:
    return hashlib.blake2b(f"{directory}\0{model}".encode(), digest_size=16).hexdigest()
