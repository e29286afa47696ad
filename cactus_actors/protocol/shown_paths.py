"""Messages of files, for readers who shall not know where a server keeps them."""

from __future__ import annotations

import re

_DIRECTORIES = re.compile(r"(?<![\w.])~?/(?:[^/:\"'\n]*/)*")
"""The beginning of an absolute path, to its last slash; a directory may have spaces in its name."""


def without_directories(message: str) -> str:
    """The message with the last component of each absolute path in its place."""
    return _DIRECTORIES.sub("", message)
