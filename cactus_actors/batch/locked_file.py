"""Files with an exclusive lock."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from cactus_actors.batch.batch_errors import OutputLocked


def open_locked(path: Path) -> int:
    """Open the file, creating it if needed, and lock it.

    The kernel releases the lock with the process. Raises OutputLocked while another process holds it, and OSError if
    the file cannot be opened or locked.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            raise OutputLocked(f"{path}: output_locked: another run is writing here") from None
        raise
    return descriptor


def write_at(descriptor: int, offset: int, line: bytes) -> int:
    """Write `line` and a line end at `offset`; returns the offset after it. Raises OSError, possibly after a part."""
    content = memoryview(line + b"\n")
    while content:
        written = os.pwrite(descriptor, content, offset)
        content, offset = content[written:], offset + written
    return offset
