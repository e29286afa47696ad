"""Limits the process's memory, because ZeroMQ does not bound all of its own.

ZeroMQ ends the process when it gets no more memory; Python raises MemoryError, in whichever thread asked for
it. Either way the whole process ends; it is restarted and continues from the journal.
"""

from __future__ import annotations

import logging
import os
import resource
import threading
from pathlib import Path
from typing import BinaryIO

EXIT_CODE = os.EX_OSERR
STATUS = Path("/proc/self/status")
MAX_STATUS_BYTES = 1 << 16
NEARLY_ALL = 0.95
STUCK_S = 5.0

_log = logging.getLogger(__name__)


def limit_memory(max_bytes: int) -> None:
    """Limit further allocations of the process to `max_bytes`; a MemoryError in any of its threads ends it.

    Without /proc nothing happens.
    """
    if not STATUS.exists():
        return
    with STATUS.open("rb") as status:
        limit = _data_bytes(status) + max_bytes
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    usual = threading.excepthook

    def on_failed_thread(failure: threading.ExceptHookArgs) -> None:
        if issubclass(failure.exc_type, MemoryError):
            out_of_memory()
        usual(failure)

    threading.excepthook = on_failed_thread


class MemoryLimitWatch:
    """Ends a process that stays near its limit: ZeroMQ then accepts no connection, and does not say so.

    It opens the kernel's file once: a process that has used up its file descriptors is watched, too.
    """

    def __init__(self) -> None:
        self._near_since: float | None = None
        self._status = STATUS.open("rb") if STATUS.exists() else None

    def on_tick(self, now: float) -> None:
        """End the process if more than NEARLY_ALL of its limit was allocated for STUCK_S seconds."""
        limit, _ = resource.getrlimit(resource.RLIMIT_DATA)
        if self._status is None or limit == resource.RLIM_INFINITY:
            return
        if _data_bytes(self._status) < NEARLY_ALL * limit:
            self._near_since = None
        elif self._near_since is None:
            self._near_since = now
        elif now - self._near_since >= STUCK_S:
            out_of_memory()


def out_of_memory() -> None:
    """End the process immediately."""
    _log.critical("the memory limit of this process is reached: it exits and is restarted")
    os._exit(EXIT_CODE)


def _data_bytes(status: BinaryIO) -> int:
    """Private writable memory of the process, touched or not, as counted by RLIMIT_DATA."""
    for line in os.pread(status.fileno(), MAX_STATUS_BYTES, 0).splitlines():
        if line.startswith(b"VmData:"):
            return int(line.split()[1]) * 1024
    return 0
