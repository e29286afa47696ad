"""Directories that only this user can enter."""

from __future__ import annotations

from pathlib import Path


def make_private(directory: Path) -> None:
    """Make a directory, and those that it lies in, with mode 0700; what is there keeps its mode.

    `Path.mkdir` would give its mode to the last one only. Raises OSError.
    """
    for path in reversed((directory, *directory.parents)):
        path.mkdir(mode=0o700, exist_ok=True)
