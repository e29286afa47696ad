"""Directories that no other user of this machine can change, or put another in the place of."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from pathlib import Path

from cactus_actors.protocol.errors import ConfigurationInvalid


def check_private(directory: Path) -> None:
    """Raises ConfigurationInvalid if others can write in the directory, or exchange it for another.

    Where every user has a group of their own, which many systems' umask lets write, that group is no other.
    """
    status = directory.stat()
    if status.st_uid not in (0, os.geteuid()):
        raise ConfigurationInvalid(f"{directory} belongs to another user (uid {status.st_uid})")
    others_write = stat.S_IWOTH | (0 if is_own_group(status.st_gid) else stat.S_IWGRP)
    if status.st_mode & others_write:
        raise ConfigurationInvalid(
            f"others can write in {directory} (mode {stat.S_IMODE(status.st_mode):04o}); "
            "run chmod go-w on it, after a look at what is in it"
        )
    check_way_to(directory)


def is_own_group(gid: int) -> bool:
    """Whether it is the group that has this user's name and no other member; root has none."""
    try:
        group, user = grp.getgrgid(gid), pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # a number without a name
        return False
    return gid != 0 and group.gr_name == user and set(group.gr_mem) <= {user}


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
            raise ConfigurationInvalid(f"{path}: every user can rename what is in {directory}; run chmod +t on it")
