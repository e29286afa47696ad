"""Directories that no other user of this machine can change, or put another in the place of."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from cactus_actors.protocol.errors import ConfigurationInvalid

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def check_private(directory: Path) -> None:
    """Raises ConfigurationInvalid if others can write in the directory, or exchange it for another."""
    status = directory.stat()
    if status.st_uid not in (0, os.geteuid()):
        raise ConfigurationInvalid(f"{directory} belongs to another user (uid {status.st_uid})")
    if status.st_mode & _OTHERS_WRITE:
        raise ConfigurationInvalid(
            f"others can write in {directory} (mode {stat.S_IMODE(status.st_mode):04o}); "
            "run chmod go-w on it, after a look at what is in it"
        )
    check_way_to(directory)


def check_way_to(path: Path) -> None:
    """Raises ConfigurationInvalid if another user can rename a directory that `path` lies in.

    Whoever may write in a directory may rename what is in it, unless the directory is sticky (inode(7)).
    """
    for directory in path.resolve().parents:
        status = directory.stat()
        if status.st_uid not in (0, os.geteuid()):
            raise ConfigurationInvalid(
                f"{path}: {directory} belongs to another user (uid {status.st_uid}), who can exchange it"
            )
        if status.st_mode & stat.S_IWOTH and not status.st_mode & stat.S_ISVTX:
            raise ConfigurationInvalid(
                f"{path}: every user can rename what is in {directory}; run chmod +t on it"
            )
