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

EXIT_CODE = os.EX_OSERR
STATUS = Path("/proc/self/status")

_log = logging.getLogger(__name__)


def limit_memory(max_bytes: int) -> None:
    """Limit further allocations of the process to `max_bytes`; a MemoryError in any of its threads ends it.

    Without /proc nothing happens.
    """
    if not STATUS.exists():
        return
    limit = _data_bytes() + max_bytes
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    usual = threading.excepthook

    def on_failed_thread(failure: threading.ExceptHookArgs) -> None:
        if issubclass(failure.exc_type, MemoryError):
            out_of_memory()
        usual(failure)

    threading.excepthook = on_failed_thread


def out_of_memory() -> None:
    """End the process at once."""
    _log.critical("the memory limit of this process is reached: it exits and is restarted")
    os._exit(EXIT_CODE)


def _data_bytes() -> int:
    """Private writable memory of the process, touched or not, as counted by RLIMIT_DATA."""
    for line in STATUS.read_text().splitlines():
        if line.startswith("VmData:"):
            return int(line.split()[1]) * 1024
    return 0
