"""The journal beside the output: what run this is, and the lock that keeps it to one process."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Any

import msgspec

from cactus_actors.batch.failures import InputChanged, OutputFailed, OutputLocked, OutputRefused

JOURNAL_VERSION = 1
_COMPLETE = b'{"complete":true}'


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is; which lines are done stands in the partial files and nowhere else.

    `run_id` keeps the job ids of two runs over one input apart; `created` is Unix seconds.
    """

    version: int = JOURNAL_VERSION
    run_id: str
    created: int
    input_sha256: str
    num_lines: int
    parameters: dict[str, Any]

    def check_same(self, now: Run, source: Path) -> None:
        """Raise InputChanged unless `now` is the same input under the same parameters."""
        if self.input_sha256 != now.input_sha256:
            what = "it is not the file that the unfinished run began with"
        elif self.parameters != now.parameters:
            what = f"the unfinished run began with other parameters: {self.parameters}"
        else:
            return
        raise InputChanged(f"{source}: input_changed: {what}; restore it, or start again with --overwrite")


class Journal:
    """The locked journal file: one line that is the Run, a second one when only renames are left to do.

    The lock goes with the process, so that a dead run leaves none. While another one
    lives, OutputLocked is raised.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = self._lock()
        self._is_empty = os.fstat(self._descriptor).st_size == 0

    def read(self) -> tuple[Run | None, bool]:
        """The run that was begun here, if any, and whether it is complete. Raises OutputRefused."""
        content = os.pread(self._descriptor, os.fstat(self._descriptor).st_size, 0)
        first, line_end, rest = content.partition(b"\n")
        if not line_end:
            return None, False  # killed before it began
        try:
            version = msgspec.json.decode(first)["version"]
            if version == JOURNAL_VERSION:
                return msgspec.json.decode(first, type=Run), rest.startswith(_COMPLETE)
            what = f"is of version {version}, this program reads version {JOURNAL_VERSION}"
        except (msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError):
            what = "is damaged"
        raise OutputRefused(
            f"{self.path}: the journal of an unfinished run {what}; "
            "finish it with the program that began it, or start again with --overwrite"
        )

    def begin(self, run: Run) -> None:
        """Forget what was there and note `run`, before anything else of it is written."""
        self._write(0, msgspec.json.encode(run))

    def mark_complete(self) -> None:
        """Note that every line is on the disk."""
        self._write(os.fstat(self._descriptor).st_size, _COMPLETE)

    def remove(self) -> None:
        """Forget the run; its files are final."""
        self.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Give the lock back; a journal that no run was begun in leaves no trace."""
        if self._is_empty:
            self.path.unlink(missing_ok=True)
        os.close(self._descriptor)

    def _write(self, offset: int, line: bytes) -> None:
        content = memoryview(line + b"\n")
        try:
            os.ftruncate(self._descriptor, offset)
            while content:
                written = os.pwrite(self._descriptor, content, offset)
                content, offset = content[written:], offset + written
            os.fsync(self._descriptor)
        except OSError as error:
            raise OutputFailed(f"{self.path}: {error.strerror}") from None
        self._is_empty = False

    def _lock(self) -> int:
        while True:
            try:
                descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            except OSError as error:
                raise OutputRefused(f"{self.path}: {error.strerror}") from None
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(descriptor), self.path.stat()):
                    return descriptor
            except BlockingIOError:
                os.close(descriptor)
                raise OutputLocked(f"{self.path}: output_locked: another run is writing here") from None
            except FileNotFoundError:
                pass
            os.close(descriptor)  # the run that held it has just ended and removed it
