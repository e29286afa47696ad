"""The directories of a service: room, the time of an fsync, and who may write there."""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from cactus_actors.config import ServeConfig
from cactus_actors.doctor.finding import Finding
from cactus_actors.keys.directory_checks import check_private
from cactus_actors.protocol.errors import ConfigurationInvalid

LOW_BYTES, ENOUGH_BYTES = 100 << 20, 2 << 30
SLOW_SYNC_S = 0.02
NUM_SYNCS = 20
RECORD = bytes(4096)


def storage(config: ServeConfig) -> Iterator[Finding]:
    """The state directory, and the two cache directories."""
    from cactus_actors.workers.kernels.sampling import sample_rows
    from cactus_actors.workers.loading.packed_file import cache_directory
    from cactus_actors.workers.runtime.compiled_step import step_of_rank

    yield state_directory(config.state_dir.expanduser())
    yield cache("packed models", cache_directory(), "CACTUS_CACHE_DIR")
    for function in (step_of_rank, sample_rows):
        yield kernels(Path(function.stats.cache_path), function.py_func.__qualname__)


def state_directory(directory: Path) -> Finding:
    """Room for the journal, and the time until an accepted job is on disk."""
    place = _existing(directory)
    free = shutil.disk_usage(place).free
    try:
        sync_s = _sync_seconds(place)
    except OSError as error:
        text, advice = f"{place}: {error.strerror}", "name another directory with --state-dir"
        return Finding(subject="state directory", grade="bad", text=text, advice=advice)
    return Finding.judged(
        "state directory",
        f"{directory}: {free / 1e9:.1f} GB free, an fsync takes {sync_s * 1000:.1f} ms",
        (
            free < LOW_BYTES,
            "bad",
            "make room, or name another directory with --state-dir: jobs are refused on a full disk",
        ),
        (
            sync_s > SLOW_SYNC_S,
            "note",
            "each job is accepted after an fsync: put --state-dir on a local SSD, "
            "or run with --no-journal if jobs may be lost with the machine",
        ),
        (free < ENOUGH_BYTES, "note", "make room: the journal keeps the results of a day"),
        free_bytes=free,
        fsync_ms=sync_s * 1000,
    )


def kernels(directory: Path, function: str) -> Finding:
    """The directory of a compiled function. Code in it is executed, so nobody else may write there."""
    try:
        if directory.exists():
            check_private(directory)
    except ConfigurationInvalid as error:
        advice = f"{error.message}; or name another directory in NUMBA_CACHE_DIR"
        return Finding(subject="compiled kernels", grade="bad", text=str(directory), advice=advice)
    found = cache("compiled kernels", directory, "NUMBA_CACHE_DIR")
    if found.grade == "good" and not any(directory.glob(f"*{function}-*.nbi")):
        advice = "run cactus warm: else the first start takes up to a minute"
        return msgspec.structs.replace(found, grade="note", text=f"none yet; {found.text}", advice=advice)
    return found


def cache(subject: str, directory: Path, variable: str) -> Finding:
    """A directory that is filled by the first start."""
    place = _existing(directory)
    is_writable = os.access(place, os.W_OK | os.X_OK)
    free = shutil.disk_usage(place).free
    return Finding.judged(
        subject,
        f"{directory}: {'' if is_writable else 'not writable, '}{free / 1e9:.1f} GB free",
        (not is_writable, "note", f"name a directory that is kept in {variable}: else each start fills its own again"),
        (free < LOW_BYTES, "note", f"make room, or name another directory in {variable}"),
        free_bytes=free,
    )


def _existing(directory: Path) -> Path:
    """The directory, or the nearest one above it that exists."""
    return next(path for path in (directory, *directory.absolute().parents) if path.is_dir())


def _sync_seconds(directory: Path) -> float:
    """The median time of writing a record and waiting until it is on disk; raises OSError."""
    durations = []
    with tempfile.TemporaryFile(dir=directory) as file:
        for _ in range(NUM_SYNCS):
            started = time.perf_counter()
            os.write(file.fileno(), RECORD)
            os.fsync(file.fileno())
            durations.append(time.perf_counter() - started)
    return statistics.median(durations)
