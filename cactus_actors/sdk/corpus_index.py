"""The index of a corpus, with embeddings of a handle's model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cactus_actors.protocol.errors import ContextExceeded
from cactus_actors.retrieval import Corpus, Index
from cactus_actors.sdk.backend import Backend
from cactus_actors.sdk.model_handle import embedding_of


def index_of(directory: Path, backend: Backend, *, kept: bool) -> Index:
    """The index of the documents in `directory`; `kept` in the cache directory or in memory only.

    Raises ConfigurationInvalid unless it is a directory, and the errors of embedding jobs.
    """

    def embed(texts: list[str]) -> NDArray[np.float32]:
        return np.array([_embedding(backend, text) for text in texts], np.float32)

    from cactus_actors.workers.loading.packed_file import cache_directory  # numba comes with it

    cache = cache_directory() / "retrieval" if kept else None
    return Index(Corpus(directory), embed, model=backend.model, cache=cache)


def _embedding(backend: Backend, text: str) -> list[float]:
    """The embedding of a text, truncated to the context."""
    try:
        return embedding_of(backend, text)[0]
    except ContextExceeded:
        return _embedding(backend, text[: len(text) // 2])
