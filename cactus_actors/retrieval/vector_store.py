"""The chunks' embeddings, kept on disk so that only new text is embedded."""

from __future__ import annotations

import contextlib
import hashlib
import io
import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Embed = Callable[[list[str]], NDArray[np.float32]]
"""Texts -> (texts, dimensions), rows of length 1."""

_HASH_BYTES = 16
_log = logging.getLogger(__name__)


class VectorStore:
    """The embedding of each text by the hash of its content; one file holds those of one corpus and model.

    Without a path they are kept in memory only. An unreadable file is rewritten.
    """

    def __init__(self, embed: Embed, path: Path | None) -> None:
        self._embed = embed
        self._path = path
        self._vectors: dict[bytes, NDArray[np.float32]] = {} if path is None else _load(path)

    def of(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(texts, dimensions); unknown texts are embedded, and others than these are forgotten."""
        hashes = [hashlib.blake2b(text.encode(), digest_size=_HASH_BYTES).digest() for text in texts]
        unknown = {name: text for name, text in zip(hashes, texts, strict=True) if name not in self._vectors}
        known = len(self._vectors)
        if unknown:
            embedded = self._embed(list(unknown.values()))
            self._vectors.update(zip(unknown, embedded, strict=True))
        self._vectors = {name: self._vectors[name] for name in hashes}
        if self._path is not None and (unknown or len(self._vectors) != known):
            _save(self._path, self._vectors)
        return np.stack([self._vectors[name] for name in hashes]) if hashes else np.zeros((0, 0), np.float32)


def _load(path: Path) -> dict[bytes, NDArray[np.float32]]:
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            hashes, vectors = file["hashes"], file["vectors"]
        if (
            hashes.shape != (len(vectors), _HASH_BYTES)
            or hashes.dtype != np.uint8
            or vectors.dtype != np.float32
            or vectors.ndim != 2
            or not np.isfinite(vectors).all()
        ):
            raise ValueError("arrays of another shape")
    except FileNotFoundError:
        return {}
    except Exception as error:  # NumPy may raise any error for a damaged archive
        _log.warning("%s is damaged and is written again: %s", path, error)
        return {}
    return {name.tobytes(): vector for name, vector in zip(hashes, vectors, strict=True)}


def _save(path: Path, vectors: dict[bytes, NDArray[np.float32]]) -> None:
    """Replace the file atomically; a write error only makes the next start slower."""
    buffer = io.BytesIO()
    names = np.frombuffer(b"".join(vectors), np.uint8).reshape(-1, _HASH_BYTES)
    np.savez(buffer, hashes=names, vectors=np.stack(list(vectors.values())) if vectors else names[:, :0])
    scratch = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch.write_bytes(buffer.getvalue())
        scratch.replace(path)
    except OSError as error:
        _log.warning("%s cannot be written: %s", path, error)
        with contextlib.suppress(OSError):
            scratch.unlink(missing_ok=True)
