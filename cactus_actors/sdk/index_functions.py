"""The functions of a vector index for embeddings of the caller."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.sdk.last_error import CallFailed, noted
from cactus_actors.sdk.vector_index import CactusIndex


class _QueryOptions(msgspec.Struct, frozen=True):
    top_k: int = 10
    score_threshold: float = -1.0


def cactus_index_init(index_dir: str | os.PathLike[str], embedding_dim: int) -> CactusIndex:
    """Open the index in a directory, creating it if needed; embeddings have `embedding_dim` numbers."""
    with noted():
        return CactusIndex(Path(index_dir), embedding_dim)


def cactus_index_add(
    index: CactusIndex,
    ids: Sequence[int],
    documents: Sequence[str],
    embeddings: Sequence[Sequence[float]],
    metadatas: Sequence[str] | None = None,
) -> None:
    """Add documents with their embeddings, all of them or none."""
    with noted():
        _checked(index).add(ids, documents, embeddings, metadatas)


def cactus_index_delete(index: CactusIndex, ids: Sequence[int]) -> None:
    """Remove documents; unknown ids are ignored."""
    with noted():
        _checked(index).delete(ids)


def cactus_index_get(index: CactusIndex, ids: Sequence[int]) -> str:
    """`{"results": [{"id", "document", "metadata", "embedding"}]}` in the order of `ids`, as JSON."""
    with noted():
        results = [entry._asdict() for entry in _checked(index).get(ids)]
        return msgspec.json.encode({"results": results}).decode()


def cactus_index_query(
    index: CactusIndex, embedding: Sequence[float], options: str | Mapping[str, Any] | None = None
) -> str:
    """`{"results": [{"id", "score"}]}`, the nearest by cosine first, as JSON.

    Options are `top_k` (10) and `score_threshold` (-1).
    """
    with noted():
        wanted = _options(options)
        found = _checked(index).query(embedding, wanted.top_k, wanted.score_threshold)
        return msgspec.json.encode({"results": [{"id": id, "score": score} for id, score in found]}).decode()


def cactus_index_compact(index: CactusIndex) -> None:
    """Return the space of deleted documents to the disk."""
    with noted():
        _checked(index).compact()


def cactus_index_destroy(index: CactusIndex) -> None:
    """Close the index and keep it on disk; a second call does nothing."""
    with noted():
        _checked(index).destroy()


def _options(options: str | Mapping[str, Any] | None) -> _QueryOptions:
    try:
        if isinstance(options, str):
            return msgspec.json.decode(options or "{}", type=_QueryOptions)
        return msgspec.convert(options or {}, _QueryOptions)
    except msgspec.DecodeError as error:
        raise InvalidRequest(f"options: {error}", param="options") from None


def _checked(index: object) -> CactusIndex:
    if not isinstance(index, CactusIndex):
        raise CallFailed("Index not initialized" if index is None else f"not an index: {index!r:.80}")
    return index
