"""The directory from which requests may name pictures by path."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from cactus_actors.protocol.errors import MediaInvalid, MediaNotAllowed, MediaTooLarge

_OUTSIDE = "the path is outside of the directory of pictures"
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC


class PictureDirectory:
    """Reads regular files at any depth below its root; links are not followed."""

    def __init__(self, root: Path) -> None:
        self._root = Path(os.path.abspath(root))  # noqa: PTH100 - a client may write the path as the setting has it
        self._real_root = self._root.resolve()

    def read(self, path: str, max_bytes: int) -> bytes:
        """The content of a file.

        `path` is relative to the root, or absolute below it. Raises MediaNotAllowed for a path outside, MediaInvalid
        for another kind of file, and MediaTooLarge.
        """
        names = self._names(path)
        try:
            with self._opened(names) as file:
                status = os.fstat(file)
                if not stat.S_ISREG(status.st_mode):
                    raise MediaInvalid("not a regular file")
                if status.st_size > max_bytes:
                    raise MediaTooLarge(f"{status.st_size} bytes, {max_bytes} are allowed")
                return _content(file, max_bytes)
        except (OSError, ValueError):  # a path with a null character is a ValueError
            raise MediaInvalid("there is no such file in the directory of pictures") from None

    def _names(self, path: str) -> tuple[str, ...]:
        """The folders and the file below the root; `..` is the folder before it, as links are not followed."""
        given = PurePosixPath(path)
        names: list[str] = []
        for name in given.relative_to(given.anchor).parts:
            if name != "..":
                names.append(name)
            elif names:
                names.pop()
            else:
                raise MediaNotAllowed(_OUTSIDE)
        if not given.is_absolute():
            return tuple(names)
        whole = PurePosixPath(given.anchor, *names)
        roots = [root for root in (self._root, self._real_root) if whole.is_relative_to(root)]
        if not roots:
            raise MediaNotAllowed(_OUTSIDE)
        return whole.relative_to(roots[0]).parts

    @contextlib.contextmanager
    def _opened(self, names: tuple[str, ...]) -> Iterator[int]:
        """The descriptor of a file: each folder is opened from its parent, so that no path changes in between."""
        if not names:
            raise FileNotFoundError
        with contextlib.ExitStack() as stack:
            at = os.open(self._real_root, _FLAGS | os.O_DIRECTORY)
            stack.callback(os.close, at)
            for name in names[:-1]:
                at = os.open(name, _FLAGS | os.O_DIRECTORY, dir_fd=at)
                stack.callback(os.close, at)
            # a pipe without a writer must not block
            file = os.open(names[-1], _FLAGS | os.O_NONBLOCK | os.O_NOCTTY, dir_fd=at)
            stack.callback(os.close, file)
            yield file


def _content(file: int, max_bytes: int) -> bytes:
    parts = bytearray()
    while part := os.read(file, min(1 << 20, max_bytes + 1 - len(parts))):
        parts += part
        if len(parts) > max_bytes:
            raise MediaTooLarge(f"more than {max_bytes} bytes")
    return bytes(parts)
