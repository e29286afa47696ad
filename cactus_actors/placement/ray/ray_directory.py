"""The private directory of a Ray instance: short enough for sockets, removed with that instance.

Ray sets the mode of its directory to 0777 (`try_to_create_directory` in ray/_private/utils.py). Its directory, OPEN,
is therefore inside one that only this user can enter.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from cactus_actors.keys.directory_checks import check_parents
from cactus_actors.protocol.errors import ConfigurationInvalid

PREFIX, OPEN = "cactus-", "ray"
MAX_SOCKET_PATH = 107 if sys.platform == "linux" else 103
"""sun_path of unix(7) without its closing zero."""
LONGEST_BELOW = f"/{OPEN}/session_2026-01-01_00-00-00_000000_4194304/sockets/plasma_store"
"""The longest name of a socket in it."""
_RANDOM_LETTERS = 8


def make_ray_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """Create a directory of mode 0700 in RAY_TMPDIR; without it in TMPDIR or, if that is too long, in /tmp.

    Raises ConfigurationInvalid.
    """
    parent = _parent(environment)
    with contextlib.suppress(OSError):  # mkdtemp reports it
        parent.mkdir(parents=True, exist_ok=True)
    try:
        path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent)).resolve()
    except OSError as error:
        reason = error.strerror or error
        raise ConfigurationInvalid(f"{parent}: {reason}; Ray needs a directory there, or in RAY_TMPDIR") from None
    try:
        check_parents(path)
    except ConfigurationInvalid:
        path.rmdir()
        raise
    return path


def _parent(environment: Mapping[str, str]) -> Path:
    named = environment.get("RAY_TMPDIR")
    if named:
        if not _fits(Path(named)):
            raise ConfigurationInvalid(f"RAY_TMPDIR={named} is too long for the sockets that Ray makes in it")
        return Path(named)
    usual = environment.get("TMPDIR")
    return Path(usual) if usual and _fits(Path(usual)) else Path("/tmp")  # noqa: S108  mkdtemp in it


def _fits(parent: Path) -> bool:
    name = os.fsencode(parent.resolve()) + b"/" + PREFIX.encode()
    return len(name) + _RANDOM_LETTERS + len(LONGEST_BELOW) <= MAX_SOCKET_PATH
