"""A file of lines that is rotated by size and by age."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import math
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from cactus_actors.process.private_directories import make_private
from cactus_actors.protocol.errors import ConfigurationInvalid

_FIRST_LINE_BYTES = 4096
_WRONG_PATH = (
    errno.EISDIR,
    errno.ENOTDIR,
    errno.EEXIST,
    errno.EACCES,
    errno.EPERM,
    errno.ENAMETOOLONG,
    errno.ELOOP,
)


class RotatingFile:
    """Appends lines, whole or not at all; PATH of `max_bytes` becomes PATH.1, which becomes PATH.2 and so on.

    So does one whose first line is older than `max_age_s` seconds, by the Unix time that `time_of` reads from
    it (None: unknown); a rotated file is removed when its last line is older. Several processes
    may append to one path, and anybody may move or delete it. A pipe is written to while it has room. The
    file is its owner's alone to read.
    """

    def __init__(
        self,
        path: Path,
        *,
        max_bytes: int = 32 * 1024 * 1024,
        num_kept: int = 3,
        max_age_s: float = math.inf,
        time_of: Callable[[bytes], float | None] = lambda _: None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Raises ConfigurationInvalid for a path where no file can be, but not for a full disk."""
        self.path = path
        self._max_bytes = max_bytes
        self._num_kept = num_kept
        self._max_age_s = max_age_s
        self._time_of = time_of
        self._now = now
        self._begun_at: float | None = None
        self._descriptor = -1
        try:
            make_private(path.parent)
            self._open()
            self._remove_old()
        except OSError as error:
            if error.errno in _WRONG_PATH:
                raise ConfigurationInvalid(f"{path}: {error.strerror}", param="job_log") from None

    def append(self, line: bytes) -> None:
        """Add one line, which ends in a newline; raises OSError, and then nothing is added."""
        if self._descriptor < 0:
            self._open()
        if not self._is_file:
            _write(self._descriptor, line)
            return
        with self._locked() as (descriptor, size):
            try:
                _write(descriptor, line)
            except OSError:
                os.ftruncate(descriptor, size)
                raise

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _open(self) -> None:
        self.close()
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
        self._descriptor = os.open(self.path, flags, 0o600)
        self._is_file = stat.S_ISREG(os.fstat(self._descriptor).st_mode)
        self._begun_at = self._first_time() if self._is_file else None

    @contextlib.contextmanager
    def _locked(self) -> Iterator[tuple[int, int]]:
        """The descriptor of the file that is at the path now, with room, and its size."""
        while True:
            if self._descriptor < 0:
                self._open()
            descriptor = self._descriptor
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            try:
                size = os.fstat(descriptor).st_size
                if not self._is_at_path():  # another process, or a person, has moved it
                    self.close()
                elif size >= self._max_bytes or (size and self._is_old()):
                    self._put_aside()
                    self.close()
                else:
                    if not size:
                        self._begun_at = self._now()
                    yield descriptor, size
                    return
            finally:
                if self._descriptor == descriptor:
                    fcntl.flock(descriptor, fcntl.LOCK_UN)

    def _is_at_path(self) -> bool:
        try:
            return os.path.samestat(self.path.stat(), os.fstat(self._descriptor))
        except FileNotFoundError:
            return False

    def _put_aside(self) -> None:
        for number in range(self._num_kept - 1, 0, -1):
            with contextlib.suppress(FileNotFoundError):
                self._aside(number).replace(self._aside(number + 1))
        self.path.replace(self._aside(1))
        self._remove_old()

    def _is_old(self) -> bool:
        return self._begun_at is not None and self._begun_at + self._max_age_s <= self._now()

    def _remove_old(self) -> None:
        for number in range(1, self._num_kept + 1):
            with contextlib.suppress(FileNotFoundError):
                if self._aside(number).stat().st_mtime + self._max_age_s <= self._now():
                    self._aside(number).unlink()

    def _first_time(self) -> float | None:
        with contextlib.suppress(FileNotFoundError), self.path.open("rb") as file:
            return self._time_of(file.readline(_FIRST_LINE_BYTES))
        return None  # it has just been moved, and is reopened before the write

    def _aside(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}")


def _write(descriptor: int, line: bytes) -> None:
    """Write all of it: a disk that is nearly full takes a part."""
    while line:
        line = line[os.write(descriptor, line) :]
