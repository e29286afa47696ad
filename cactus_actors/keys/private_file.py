"""Files that only their owner can read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from cactus_actors.process.private_directories import make_private, replace_private
from cactus_actors.protocol.errors import ConfigurationInvalid

MAX_BYTES = 1024 * 1024


def read_private(path: Path) -> bytes:
    """Read a file; raises ConfigurationInvalid if it is missing or accessible to others."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        reason = "is a symbolic link, which is not followed" if path.is_symlink() else None
        raise ConfigurationInvalid(f"{path} {reason or f'cannot be read: {error.strerror}'}") from None
    try:
        # of the open file, which cannot be replaced between check and read
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise ConfigurationInvalid(f"{path} is not a file")
        if mode & 0o077:
            raise ConfigurationInvalid(f"{path} is open to others (mode {stat.S_IMODE(mode):04o}); run chmod 600 on it")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(MAX_BYTES)
    finally:
        os.close(descriptor)


def write_private(path: Path, content: bytes) -> None:
    """Replace the file atomically, with mode 0600 from the start; missing directories get mode 0700.

    Raises ConfigurationInvalid.
    """
    try:
        make_private(path.parent)
        replace_private(path, content)
    except OSError as error:
        raise ConfigurationInvalid(f"{path}: {error.strerror}") from None
