"""Files that one process writes at a time."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from cactus_actors.batch.batch_errors import OutputLocked


def open_locked(path: Path) -> int:
    """A descriptor of the file, made if need be, that no other process has locked.

    The lock goes with the process, so that a dead one leaves none. OutputLocked is raised while another one
    holds it; OSError if the file cannot be opened or locked.
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
    """Write all of `line` and a line end there; the offset behind it. Raises OSError with a part written."""
    content = memoryview(line + b"\n")
    while content:
        written = os.pwrite(descriptor, content, offset)
        content, offset = content[written:], offset + written
    return offset
