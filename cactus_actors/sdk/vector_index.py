"""A vector index on disk for embeddings of the caller, searched by cosine similarity."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.sdk.last_error import CallFailed

FILE_NAME = "index.sqlite"
MAX_ID = 2**63 - 1

_SCHEMA = """
CREATE TABLE IF NOT EXISTS about (dimensions INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS entries (
    id INTEGER PRIMARY KEY, document TEXT NOT NULL, metadata TEXT NOT NULL, embedding BLOB NOT NULL
);
"""


class Entry(NamedTuple):
    """An entry of the index."""

    id: int
    document: str
    metadata: str
    embedding: list[float]


class CactusIndex:
    """The index of `cactus_index_init`: one SQLite file in a directory. Changes are on disk when a call returns.

    A call waits until other threads' calls have returned. Raises CallFailed once it is destroyed, and for a
    file that is not such an index, or that has another number of dimensions.
    """

    def __init__(self, directory: Path, dimensions: int) -> None:
        if dimensions < 1:
            raise InvalidRequest(f"embedding_dim must be at least 1, got {dimensions}", param="embedding_dim")
        self._dimensions = dimensions
        self._lock = threading.Lock()
        self._is_destroyed = False
        path = directory.expanduser() / FILE_NAME
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(path, check_same_thread=False)
        except (OSError, sqlite3.Error) as error:
            raise CallFailed(f"{path} cannot be opened: {error}") from error
        try:
            self._prepare(path)
        except BaseException:
            self._database.close()
            raise

    def add(
        self,
        ids: Sequence[int],
        documents: Sequence[str],
        embeddings: Sequence[Sequence[float]],
        metadatas: Sequence[str] | None = None,
    ) -> None:
        """Add entries, all or none; raises InvalidRequest for an existing id."""
        metadatas = [""] * len(ids) if metadatas is None else metadatas
        if not len(ids) == len(documents) == len(embeddings) == len(metadatas):
            raise InvalidRequest("ids, documents, embeddings and metadatas differ in number", param="ids")
        vectors = [self._unit(embedding).tobytes() for embedding in embeddings]
        rows = zip(map(_checked_id, ids), documents, metadatas, vectors, strict=True)
        with self._held() as database:
            try:
                with database:
                    database.executemany("INSERT INTO entries VALUES (?, ?, ?, ?)", rows)
            except sqlite3.IntegrityError:
                raise InvalidRequest("an id is there already, or twice among these", param="ids") from None
            self._read()

    def delete(self, ids: Sequence[int]) -> None:
        """Remove entries; unknown ids are ignored."""
        with self._held() as database:
            with database:
                database.executemany("DELETE FROM entries WHERE id = ?", [(_checked_id(id),) for id in ids])
            self._read()

    def get(self, ids: Sequence[int]) -> list[Entry]:
        """The entries of these ids, in order; raises InvalidRequest for an unknown id."""
        with self._held() as database:
            found = []
            for wanted in map(_checked_id, ids):
                row = database.execute("SELECT * FROM entries WHERE id = ?", (wanted,)).fetchone()
                if row is None:
                    raise InvalidRequest(f"no entry {wanted}", param="ids")
                number, document, metadata, embedding = row
                vector = np.frombuffer(embedding, np.float32).tolist()
                found.append(Entry(number, document, metadata, vector))
            return found

    def query(
        self, embedding: Sequence[float], top_k: int = 10, score_threshold: float = -1.0
    ) -> list[tuple[int, float]]:
        """Ids and cosines of the nearest entries that reach the threshold, best first."""
        with self._held():
            scores = self._vectors @ self._unit(embedding)
            order = np.argsort(-scores, kind="stable")[: max(0, top_k)]
            return [
                (int(self._ids[place]), float(scores[place])) for place in order if scores[place] >= score_threshold
            ]

    def compact(self) -> None:
        """Return the space of deleted entries to the disk."""
        with self._held() as database:
            database.execute("VACUUM")

    def destroy(self) -> None:
        """Close the file; a second call does nothing."""
        with self._lock:
            self._is_destroyed = True
            self._database.close()

    def _prepare(self, path: Path) -> None:
        try:
            self._database.executescript(_SCHEMA)
            known = self._database.execute("SELECT dimensions FROM about").fetchone()
            if known is None:
                with self._database:
                    self._database.execute("INSERT INTO about VALUES (?)", (self._dimensions,))
            elif known[0] != self._dimensions:
                raise CallFailed(f"{path} has embeddings of {known[0]} dimensions, not {self._dimensions}")
            self._read()
        except (sqlite3.Error, ValueError) as error:
            raise CallFailed(f"{path} is damaged or no index: {error}") from error

    def _read(self) -> None:
        rows = self._database.execute("SELECT id, embedding FROM entries ORDER BY id").fetchall()
        self._ids: NDArray[np.int64] = np.array([row[0] for row in rows], np.int64)
        joined = b"".join(row[1] for row in rows)
        shape = (len(rows), self._dimensions)
        self._vectors: NDArray[np.float32] = np.frombuffer(joined, np.float32).reshape(shape)

    def _unit(self, embedding: Sequence[float]) -> NDArray[np.float32]:
        refusal = InvalidRequest(
            f"an embedding must be {self._dimensions} finite numbers, not all 0", param="embeddings"
        )
        try:
            vector = np.asarray(embedding, np.float32)
        except (TypeError, ValueError):
            raise refusal from None
        length = np.linalg.norm(vector)
        if vector.shape != (self._dimensions,) or not np.isfinite(length) or length == 0:
            raise refusal
        return (vector / length).astype(np.float32)

    @contextlib.contextmanager
    def _held(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            if self._is_destroyed:
                raise CallFailed("the index was destroyed")
            yield self._database


def _checked_id(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_ID:
        raise InvalidRequest(f"an id is an integer from 0 to {MAX_ID}, not {value!r:.40}", param="ids")
    return int(value)
