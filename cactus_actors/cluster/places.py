"""Directories that a local Ray cannot do without, tried first: it would wait, and then blame another."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from cactus_actors.protocol.errors import ConfigurationInvalid

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108  where Linux has it, shm_overview(7)


def check_places(environment: Mapping[str, str] = os.environ) -> None:
    """Raises ConfigurationInvalid naming the directory that is missing or cannot be written."""
    sessions = session_directory(environment)
    with contextlib.suppress(OSError):  # then it is not there
        sessions.mkdir(parents=True, exist_ok=True)
    _check(sessions, "Ray keeps its sessions there; RAY_TMPDIR names another place")
    if sys.platform == "linux":
        _check(SHARED_MEMORY, "Ray needs it for its object store; in a container, mount it (--shm-size)")


def session_directory(environment: Mapping[str, str]) -> Path:
    """Where Ray makes its directory: RAY_TMPDIR, TMPDIR, or /tmp."""
    return Path(environment.get("RAY_TMPDIR") or environment.get("TMPDIR") or "/tmp")  # noqa: S108


def _check(directory: Path, purpose: str) -> None:
    try:
        tempfile.TemporaryFile(dir=directory).close()
    except OSError as error:
        raise ConfigurationInvalid(f"{directory}: {error.strerror or error}; {purpose}") from None
