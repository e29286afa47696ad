"""Packed models on disk: written once, then mapped by all workers, which share them in the page cache."""

from __future__ import annotations

import fcntl
import glob
import hashlib
import json
import logging
import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from cactus_actors.process.cpu_cores import bound_node
from cactus_actors.workers.kernels.aligned_memory import CACHE_LINE, round_up
from cactus_actors.workers.loading.model_reader import ModelFiles
from cactus_actors.workers.loading.packing import OnProgress, pack
from cactus_actors.workers.runtime.layout import Arenas, WeightLayout

ENVIRONMENT_VARIABLE = "CACTUS_CACHE_DIR"
LAYOUT_VERSION = 2
"""Incremented whenever the bytes of a packed format change."""

HEADER_BYTES = 4096  # a whole page, so that the arenas after it start on one
MAGIC = b"cactus packed\n"

_log = logging.getLogger(__name__)


def cache_directory() -> Path:
    """The directory of packed models: CACTUS_CACHE_DIR, or `cactus-actors` in the user's cache directory."""
    if chosen := os.environ.get(ENVIRONMENT_VARIABLE):
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "cactus-actors"


def packed_path(source: Path, layout: WeightLayout, mmproj: Path | None = None) -> Path:
    """The packed file of the model in `source`, a directory or a GGUF file, for one layout.

    The name changes with the size or modification time of any file of the model, and of its encoder in `mmproj`.
    """
    source = source.resolve()
    files = [source] if source.is_file() else [*sorted(source.glob("*.safetensors*")), source / "config.json"]
    places = [str(source)]
    if mmproj is not None:
        files.append(mmproj.resolve())
        places.append(str(mmproj.resolve()))
    if (node := bound_node()) is not None:  # each NUMA node has its own copy in its memory
        places.append(f"node {node}")
    if layout.has_draft_head:  # kept beside the model without it
        places.append("drafts")
    stats = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    name = (source.stem if source.is_file() else source.name)[:80]
    place, state = _digest(list(places)), _digest([stats, _description(layout)])
    return cache_directory() / "packed" / f"{name}-{layout.body.name}-{place}-{state}.cactus"


def packed_arenas(path: Path, files: ModelFiles, layout: WeightLayout, on_progress: OnProgress) -> Arenas:
    """The packed weights of a model, mapped from the file `path` of the cache; packed first if missing.

    If the cache cannot be written, the weights are packed into memory of this process.
    """
    try:
        ensure_packed(path, files, layout, on_progress)
        return _map(path, layout)
    except OSError as error:
        _log.warning("%s cannot be used (%s); this worker keeps its own copy of the weights", path, error)
        arenas = Arenas.empty(layout)
        pack(files.graph, layout, files.tensors, arenas, on_progress)
        return arenas


def ensure_packed(path: Path, files: ModelFiles, layout: WeightLayout, on_progress: OnProgress) -> bool:
    """Write the packed file `path` unless it exists; returns True if it was written. Raises OSError.

    Packed files of earlier versions of the model are removed.
    """
    if _is_whole(path, layout):
        return False
    with _pack_lock(path):
        if _is_whole(path, layout):
            return False
        if path.exists():
            _log.warning("%s is damaged; the model is packed again", path)
        _write(path, files, layout, on_progress)
        for former in path.parent.glob(f"{glob.escape(_model_name(path))}-*.cactus"):
            if former != path:
                former.unlink(missing_ok=True)
        return True


@contextmanager
def _pack_lock(path: Path) -> Iterator[None]:
    """Hold the lock of a packed model, so that a second process maps the file of the first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with (path.parent / f"{_model_name(path)}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _model_name(path: Path) -> str:
    """The common part of the names of all packed files of one model in one format."""
    return path.stem.rpartition("-")[0]


def _write(path: Path, files: ModelFiles, layout: WeightLayout, on_progress: OnProgress) -> None:
    """Pack into a file next to `path`, and rename it when it is complete."""
    part = path.with_suffix(".part")  # overwrites the file of a killed process
    try:
        with part.open("w+b") as file:
            os.posix_fallocate(file.fileno(), 0, _file_bytes(layout))
            content = mmap.mmap(file.fileno(), _file_bytes(layout))
            pack(files.graph, layout, files.tensors, _arenas_in(content, layout), on_progress)
            content[: len(_header(layout))] = _header(layout)
            content.flush()
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _map(path: Path, layout: WeightLayout) -> Arenas:
    """The arenas in a packed file. Pages become private only when written, which does not happen."""
    with path.open("rb") as file:
        content = mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    return _arenas_in(content, layout)


def _is_whole(path: Path, layout: WeightLayout) -> bool:
    if not path.is_file() or path.stat().st_size != _file_bytes(layout):
        return False
    header = _header(layout)
    with path.open("rb") as file:
        return file.read(len(header)) == header


def _header(layout: WeightLayout) -> bytes:
    return MAGIC + _digest(_description(layout)).encode()


def _description(layout: WeightLayout) -> list[object]:
    """A description that determines the meaning of the file's bytes."""
    starts = (layout.body_starts, layout.head_starts, layout.vector_starts)
    named = [[(repr(reference), start) for reference, start in each.items()] for each in starts]
    return [LAYOUT_VERSION, layout.body.name, layout.head.name, _file_bytes(layout), named]


def _digest(description: list[object]) -> str:
    return hashlib.blake2b(json.dumps(description).encode(), digest_size=8).hexdigest()


def _file_bytes(layout: WeightLayout) -> int:
    return _starts(layout)[2] + 4 * layout.num_vector_floats


def _starts(layout: WeightLayout) -> tuple[int, int, int]:
    """Offsets of body, head and vectors."""
    head = HEADER_BYTES + round_up(layout.body_bytes, CACHE_LINE)
    return HEADER_BYTES, head, head + round_up(layout.head_bytes, CACHE_LINE)


def _arenas_in(content: mmap.mmap, layout: WeightLayout) -> Arenas:
    body, head, vectors = _starts(layout)
    return Arenas(
        np.frombuffer(content, np.uint8, layout.body_bytes, body),
        np.frombuffer(content, np.uint8, layout.head_bytes, head),
        np.frombuffer(content, np.float32, layout.num_vector_floats, vectors),
    )
