"""An append-only file of JSON lines that is whole up to its last line end, whatever happened."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from cactus_actors.batch.failures import OutputFailed
from cactus_actors.batch.scan import id_key


class _Named(msgspec.Struct):
    custom_id: str


class ResultFile:
    """Opened at once and kept open; what a killed run left torn at the end is cut off.

    `done` are the keys of the custom_ids that it holds. `append` returns when the kernel has the line: a
    killed process loses nothing; `sync` makes it safe from a power cut too.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with _as_output_failed(path):
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            with os.fdopen(os.dup(self._descriptor), "rb") as file:
                self.done, self._size = read_keys(file)
            os.ftruncate(self._descriptor, self._size)
            os.lseek(self._descriptor, self._size, os.SEEK_SET)
        self._is_synced = True

    def append(self, line: bytes) -> None:
        """Write a whole line, or nothing: raises OutputFailed."""
        content = memoryview(line + b"\n")
        written = 0
        try:
            while written < len(content):
                written += os.write(self._descriptor, content[written:])
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, self._size)
                os.lseek(self._descriptor, self._size, os.SEEK_SET)
            raise OutputFailed(f"{self.path}: {error.strerror} after {self._size} bytes") from None
        self._size += written
        self._is_synced = False

    def sync(self) -> None:
        """Return when everything is on the disk; raises OutputFailed."""
        if self._is_synced:
            return
        with _as_output_failed(self.path):
            os.fsync(self._descriptor)
        self._is_synced = True

    def close(self) -> None:
        """Release the file."""
        os.close(self._descriptor)


def read_keys(file: BinaryIO) -> tuple[set[int], int]:
    """The keys of the custom_ids in the whole lines that `file` begins with, and their size in bytes."""
    keys: set[int] = set()
    size = 0
    decoder = msgspec.json.Decoder(_Named)
    for line in file:
        if not line.endswith(b"\n"):
            break
        try:
            keys.add(id_key(decoder.decode(line).custom_id))
        except (msgspec.DecodeError, UnicodeDecodeError):
            break  # after a power cut a tail may be there without its content
        size += len(line)
    return keys, size


@contextlib.contextmanager
def _as_output_failed(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputFailed(f"{path}: {error.strerror}") from None
