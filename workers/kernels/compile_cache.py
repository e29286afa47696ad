"""Compile a kernel once for all processes of a machine, and again when any kernel's source changes."""

from __future__ import annotations

import fcntl
import gc
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cactus_actors.keys.directory_checks import check_private
from cactus_actors.process.private_directories import make_private
from cactus_actors.protocol.errors import ConfigurationInvalid


def fingerprint(*others: str) -> str:
    """A hash of all sources in this folder and of the `others`, files by their paths.

    numba's own cache looks only at the outer function's file.
    """
    digest = hashlib.sha256()
    for source in [*sorted(Path(__file__).parent.glob("*.py")), *sorted(map(Path, others))]:
        digest.update(source.read_bytes())
    return digest.hexdigest()


@contextmanager
def compile_lock(function: Any) -> Iterator[None]:
    """Hold the lock of a function's cache directory, so that a second process finds what the first compiled.

    numba's cache index is not safe against two processes that save different signatures at once. Raises
    ConfigurationInvalid if others than this user can write in the directory: what is in it is run.
    """
    directory = Path(function.stats.cache_path)
    make_private(directory)
    _check_private(directory)
    with (directory / "compiling.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with _without_collections():
            yield


def _check_private(directory: Path) -> None:
    try:
        check_private(directory)
    except ConfigurationInvalid as error:
        message = f"compiled code is loaded from where others can change it: {error.message}"
        raise ConfigurationInvalid(f"{message}; or name another directory in NUMBA_CACHE_DIR") from None


@contextmanager
def _without_collections() -> Iterator[None]:
    """Let the garbage collector wait: an eighth of the time that numba compiles for would be its."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
