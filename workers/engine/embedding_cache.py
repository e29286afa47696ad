"""Embeddings of pictures that were encoded before."""

from __future__ import annotations

from collections import OrderedDict

from cactus_actors.workers.engine.sequence_pictures import Embeddings, PictureKey


class EmbeddingCache:
    """At most `max_bytes` of embeddings, found by cache salt and digest; the least recently used go first."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._num_bytes = 0
        self._embeddings: OrderedDict[PictureKey, Embeddings] = OrderedDict()

    @property
    def num_bytes(self) -> int:
        """Memory of all embeddings in the cache."""
        return self._num_bytes

    def get(self, key: PictureKey) -> Embeddings | None:
        """The embeddings of a picture, which count as used now; None if they are not here."""
        embeddings = self._embeddings.get(key)
        if embeddings is not None:
            self._embeddings.move_to_end(key)
        return embeddings

    def put(self, key: PictureKey, embeddings: Embeddings) -> None:
        """Keep the embeddings of a picture, unless they alone are larger than the cache."""
        if embeddings.nbytes > self._max_bytes:
            return
        before = self._embeddings.pop(key, None)
        self._num_bytes += embeddings.nbytes - (0 if before is None else before.nbytes)
        self._embeddings[key] = embeddings
        while self._num_bytes > self._max_bytes:
            _, evicted = self._embeddings.popitem(last=False)
            self._num_bytes -= evicted.nbytes
