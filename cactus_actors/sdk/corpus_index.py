"""The index of a corpus, by a handle's own model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cactus_actors.protocol.errors import ContextExceeded
from cactus_actors.retrieval import Corpus, Index
from cactus_actors.sdk.backend import Backend
from cactus_actors.sdk.model_handle import embedding_of


def index_of(directory: Path, backend: Backend, *, kept: bool) -> Index:
    """The index of the documents below `directory`; `kept` in the cache directory or in memory only.

    Raises ConfigurationInvalid for what is no directory, and what an embedding job may raise.
    """

    def embed(texts: list[str]) -> NDArray[np.float32]:
        return np.array([_embedding(backend, text) for text in texts], np.float32)

    from cactus_actors.workers.loading.packed_file import cache_directory  # numba comes with it

    cache = cache_directory() / "retrieval" if kept else None
    return Index(Corpus(directory), embed, model=backend.model, cache=cache)


def _embedding(backend: Backend, text: str) -> list[float]:
    """The embedding of as much of a text as a short context holds."""
    try:
        return embedding_of(backend, text)[0]
    except ContextExceeded:
        return _embedding(backend, text[: len(text) // 2])
