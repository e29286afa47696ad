"""An append-only file of JSON lines, valid up to its last line end at any time."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec

from cactus_actors.batch.batch_errors import OutputFailed, naming_file
from cactus_actors.batch.custom_id_set import CustomIdSet, custom_id_hash
from cactus_actors.batch.locked_file import open_locked, write_at


class _Named(msgspec.Struct):
    custom_id: str


class ResultLine(NamedTuple):
    """A valid line and its offset."""

    key: int
    offset: int
    content: bytes


class ResultFile:
    """Opened when it is made and kept open. Only complete lines of a killed run are kept, each once.

    `done` holds the hashes of its custom_ids. After `append` the kernel has the line, and a killed process loses
    nothing; `sync`, which may run in another thread, makes it safe against power failures. Raises OutputLocked while
    another process has the file open.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.done = CustomIdSet()
        self._changing = threading.Lock()
        self._syncing = threading.Lock()
        self._is_sound = True
        with naming_file(path):
            self._descriptor = open_locked(path)
            try:
                self._size = self._keep_valid_lines()
                # data of a killed run may still be in the kernel's cache
                os.fsync(self._descriptor)
            except BaseException:
                os.close(self._descriptor)
                raise
        self._synced_size = self._size

    def append(self, line: bytes) -> None:
        """Append a line, completely or not at all; raises OutputFailed."""
        with self._changing:
            self._check_sound()
            try:
                self._size = write_at(self._descriptor, self._size, line)
            except OSError as error:
                self._cut(self._size)
                raise OutputFailed(f"{self.path}: {error.strerror} after {self._size} bytes") from None

    def sync(self) -> None:
        """Write everything to disk; on OutputFailed, lines that were not written are cut off."""
        with self._syncing:
            self._check_sound()
            size = self._size
            if size == self._synced_size:
                return
            try:
                os.fsync(self._descriptor)
            except OSError as error:
                # The kernel drops pages that it could not write: a second fsync would report success.
                with self._changing:
                    self._is_sound = False
                    self._cut(self._synced_size)
                raise OutputFailed(
                    f"{self.path}: {error.strerror} after {self._synced_size} bytes, "
                    f"{size - self._synced_size} after them are lost"
                ) from None
            self._synced_size = size

    def close(self) -> None:
        """Close the file after a last attempt to sync."""
        with contextlib.suppress(OutputFailed):
            self.sync()
        os.close(self._descriptor)

    def _check_sound(self) -> None:
        if not self._is_sound:
            raise OutputFailed(f"{self.path}: the disk failed after {self._synced_size} bytes")

    def _cut(self, size: int) -> None:
        self._size = size
        with contextlib.suppress(OSError):
            os.ftruncate(self._descriptor, size)

    def _keep_valid_lines(self) -> int:
        """Add valid lines to `done` and drop everything else; returns the remaining size."""
        size = 0
        has_gap = False
        with os.fdopen(os.dup(self._descriptor), "rb") as file:
            for line in result_lines(file):
                if not self.done.add(line.key):
                    continue
                has_gap |= line.offset != size
                size += len(line.content)
        if has_gap:
            self._rewrite()
        else:
            os.ftruncate(self._descriptor, size)
        return size

    def _rewrite(self) -> None:
        """Rewrite the file with its valid lines, so that damage costs only the affected lines."""
        path = self.path.with_name(f"{self.path.name}.new")
        path.unlink(missing_ok=True)
        descriptor = open_locked(path)
        try:
            seen = CustomIdSet()
            with (
                os.fdopen(os.dup(self._descriptor), "rb") as file,
                os.fdopen(os.dup(descriptor), "wb") as new,
            ):
                file.seek(0)
                new.writelines(line.content for line in result_lines(file) if seen.add(line.key))
                new.flush()
                os.fsync(new.fileno())
            path.replace(self.path)
            os.dup2(descriptor, self._descriptor, inheritable=False)
        finally:
            os.close(descriptor)


def result_lines(file: BinaryIO) -> Iterator[ResultLine]:
    """The complete lines of `file` with a custom_id; anything else is damage and skipped."""
    offset = 0
    decoder = msgspec.json.Decoder(_Named)
    for line in file:
        if line.endswith(b"\n"):
            with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
                yield ResultLine(custom_id_hash(decoder.decode(line).custom_id), offset, line)
        offset += len(line)
