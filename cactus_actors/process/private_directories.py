"""Directories that only this user can enter, and files that only this user can read."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import BinaryIO


def make_private(directory: Path) -> None:
    """Create a directory and its parents with mode 0700; existing ones keep their mode.

    `Path.mkdir` would apply the mode to the last one only. Raises OSError.
    """
    for path in reversed((directory, *directory.parents)):
        path.mkdir(mode=0o700, exist_ok=True)


def open_private(path: Path) -> BinaryIO:
    """Create a file with mode 0600, whatever the umask, and open it for writing. Raises OSError, also if it exists."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb")


def replace_private(path: Path, content: bytes) -> None:
    """Write a file with mode 0600 to the disk, in place of an older one: all of it or nothing. Raises OSError."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.unlink(missing_ok=True)
        with open_private(partial) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise
