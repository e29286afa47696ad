"""Directories that only this user can enter."""

from __future__ import annotations

from pathlib import Path


def make_private(directory: Path) -> None:
    """Create a directory and its parents with mode 0700; existing ones keep their mode.

    `Path.mkdir` would apply the mode to the last one only. Raises OSError.
    """
    for path in reversed((directory, *directory.parents)):
        path.mkdir(mode=0o700, exist_ok=True)
