"""Checks that no other user can change or replace a directory."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from pathlib import Path

from cactus_actors.protocol.errors import ConfigurationInvalid


def check_private(directory: Path) -> None:
    """Raise ConfigurationInvalid if other users can write in the directory or replace it.

    A group that holds only this user does not count as others: many systems let it write by default.
    """
    status = directory.stat()
    if status.st_uid not in (0, os.geteuid()):
        raise ConfigurationInvalid(f"{directory} belongs to another user (uid {status.st_uid})")
    others_write = stat.S_IWOTH | (0 if is_own_group(status.st_gid) else stat.S_IWGRP)
    if status.st_mode & others_write:
        raise ConfigurationInvalid(
            f"others can write in {directory} (mode {stat.S_IMODE(status.st_mode):04o}); "
            "run chmod go-w on it, after a check of its content"
        )
    check_parents(directory)


def is_own_group(gid: int) -> bool:
    """True if the group has this user's name and no other member; False for root."""
    try:
        group, user = grp.getgrgid(gid), pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # an id without a name
        return False
    return gid != 0 and group.gr_name == user and set(group.gr_mem) <= {user}


def check_parents(path: Path) -> None:
    """Raise ConfigurationInvalid if another user can rename a parent directory of `path`.

    Write permission on a directory allows renaming its entries, unless it is sticky (inode(7)).
    """
    for directory in path.resolve().parents:
        status = directory.stat()
        if status.st_uid not in (0, os.geteuid()):
            raise ConfigurationInvalid(
                f"{path}: {directory} belongs to another user (uid {status.st_uid}), who can replace it"
            )
        if status.st_mode & stat.S_IWOTH and not status.st_mode & stat.S_ISVTX:
            raise ConfigurationInvalid(f"{path}: every user can rename entries of {directory}; run chmod +t on it")
