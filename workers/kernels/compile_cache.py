"""Compile once for all processes of a machine, and again when a source changes."""

from __future__ import annotations

import fcntl
import gc
import hashlib
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from numba import njit

from cactus_actors.keys.directory_checks import check_private
from cactus_actors.process.private_directories import make_private
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.workers.kernels.internal import UNCOUNTED

QUIET_WAIT_S = 5.0
POLL_S = 0.05

_log = logging.getLogger(__name__)


def cached_njit(*folders: Path, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """`njit` for the functions that Python calls; their machine code is kept on disk, and makes no arrays.

    The file names of the machine code contain a hash of the sources of this folder and of `folders`, which
    must hold all callees and argument types. numba by itself checks the outer function's file only, and
    unpickles the types in an old index before that.
    """

    def compiled(function: Callable[..., Any]) -> Any:
        function.__qualname__ = f"{function.__name__}_{sources_hash(*folders)}"
        return njit(cache=True, **UNCOUNTED | options)(function)

    return compiled


def kept_njit(*folders: Path, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """`cached_njit` for functions that take the lock of their cache themselves, when they are compiled or loaded."""

    def compiled(function: Callable[..., Any]) -> Any:
        dispatcher = cached_njit(*folders, **options)(function)
        compile_or_load = dispatcher._compile_for_args

        def locked(*arguments: Any, **keywords: Any) -> Any:
            with compile_lock(dispatcher):
                return compile_or_load(*arguments, **keywords)

        dispatcher._compile_for_args = locked
        return dispatcher

    return compiled


def sources_hash(*folders: Path) -> str:
    """A hash of all sources of this folder and of `folders`."""
    digest = hashlib.sha256()
    for folder in (Path(__file__).parent, *folders):
        for source in sorted(folder.rglob("*.py")):
            digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


@contextmanager
def compile_lock(function: Any, quiet_wait_s: float = QUIET_WAIT_S) -> Iterator[None]:
    """Hold the lock of a function's cache, so that a second process finds what the first compiled.

    A wait of more than `quiet_wait_s` is logged.

    The index of numba's cache is not safe when two processes save different signatures at once. Raises
    ConfigurationInvalid if other users can write in its directory, because the content is executed.
    """
    directory = Path(function.stats.cache_path)
    make_private(directory)
    _check_private(directory)
    name, _, _ = function.py_func.__qualname__.rpartition("_")
    with (directory / f"{name}.lock").open("w") as lock:
        _wait_for(lock, directory, quiet_wait_s)
        _remove_obsolete(function)
        with _without_collections():
            yield


def _wait_for(lock: IO[str], directory: Path, quiet_wait_s: float) -> None:
    """Take the lock; a process that only loads compiled code frees it soon."""
    until = time.monotonic() + quiet_wait_s
    while time.monotonic() < until:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(POLL_S)
        else:
            return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        _log.warning("the model waits for another process that compiles kernels into %s", directory)
        fcntl.flock(lock, fcntl.LOCK_EX)


def _remove_obsolete(function: Any) -> None:
    """Delete machine code that was compiled from other sources than the present ones."""
    current_hash = function.py_func.__qualname__.rpartition("_")[2]
    for file in Path(function.stats.cache_path).glob("*.nb[ci]"):
        if current_hash not in file.name:
            file.unlink(missing_ok=True)


def _check_private(directory: Path) -> None:
    try:
        check_private(directory)
    except ConfigurationInvalid as error:
        message = f"others can change the directory of compiled code: {error.message}"
        raise ConfigurationInvalid(f"{message}; or name another directory in NUMBA_CACHE_DIR") from None


@contextmanager
def _without_collections() -> Iterator[None]:
    """Suspend garbage collection, which would take an eighth of the compile time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
