"""The journal of a run, next to its output, and the lock that admits one process."""

from __future__ import annotations

import contextlib
import errno
import os
import zlib
from pathlib import Path
from typing import Any

import msgspec

from cactus_actors.batch.batch_errors import InputChanged, OptionsChanged, OutputFailed, OutputRefused, naming_file
from cactus_actors.batch.locked_file import open_locked, write_at
from cactus_actors.batch.option_changes import changes_in_words, with_max_tokens_of
from cactus_actors.batch.paths import BatchPaths, sync_directory

JOURNAL_VERSION = 3
_COMPLETE = b'{"complete":true}'
_DISK_FAILURES = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO})


class BatchRun(msgspec.Struct, frozen=True, kw_only=True):
    """The identity of a run; completed lines are recorded in the partial files only.

    `run_id` separates the job ids of two runs over one input; `created` is Unix seconds; `model` is the model of the
    service, "" if unknown. `checksum` covers the other fields.
    """

    version: int = JOURNAL_VERSION
    run_id: str
    created: int
    input_sha256: str
    num_lines: int
    parameters: dict[str, Any]
    model: str = ""
    checksum: int = 0

    @property
    def sum(self) -> int:
        """CRC-32 of all fields but `checksum`."""
        return zlib.crc32(msgspec.json.encode(msgspec.structs.replace(self, checksum=0)))

    def retried_as(self, now: BatchRun) -> BatchRun:
        """This run, whose failed lines are run again with the `max_tokens` of `now`: it may have cut them off."""
        return msgspec.structs.replace(self, parameters=with_max_tokens_of(now.parameters, self.parameters))

    def check_same(self, now: BatchRun, paths: BatchPaths) -> None:
        """Raise InputChanged unless `now` has the same input and model, OptionsChanged for other options."""
        if "rows" in now.parameters:  # its lines depend on the options, too
            self._check_same_options(now, paths)
        if self.input_sha256 != now.input_sha256:
            raise InputChanged(
                f"{paths.source}: input_changed: the run of {paths.output} began with an input of "
                f"{_input_in_words(self)}, this one has {_input_in_words(now)}; "
                "restore the input, or start again with --overwrite"
            )
        self._check_same_options(now, paths)
        if self.model and now.model and self.model != now.model:
            raise InputChanged(
                f"{paths.output}: input_changed: the run here began with the model {self.model}, "
                f"the service has {now.model}; start the service with the first one, "
                "or start again with --overwrite"
            )

    def _check_same_options(self, now: BatchRun, paths: BatchPaths) -> None:
        if changes := changes_in_words(self.parameters, now.parameters):
            raise OptionsChanged(
                f"{paths.output}: options_changed: the run here began with other options: "
                f"{'; '.join(changes)}. Give the options that it began with, or start again with --overwrite"
            )


def _is_of(run_id: str, line: bytes) -> bool:
    return b'"run_id":' + msgspec.json.encode(run_id) in line


def _input_in_words(run: BatchRun) -> str:
    return f"{run.num_lines} line{'' if run.num_lines == 1 else 's'} (SHA-256 {run.input_sha256[:12]})"


class BatchJournal:
    """The locked journal file: a line for each run, and one after it when only renames are left to do.

    The last run counts. Lines are only appended, so that a kill leaves the old or the new state; an incomplete last
    line is ignored. The journal is kept after the run, to identify the output.

    Raises OutputLocked while another run holds the lock.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.round = 0
        """The number of retries of the run's failed lines; valid after `read`."""
        self._descriptor = self._lock()

    def read(self) -> tuple[BatchRun | None, bool]:
        """The last run, if any, and whether it is complete. Raises OutputRefused."""
        lines = self._whole_lines().splitlines()
        if not lines:
            return None, False  # killed before the run was recorded
        is_complete = lines[-1] == _COMPLETE
        try:
            begun = lines[-2] if is_complete else lines[-1]
            version = msgspec.json.decode(begun)["version"]
            if version == JOURNAL_VERSION:
                run = msgspec.json.decode(begun, type=BatchRun)
                if run.checksum == run.sum:
                    self.round = sum(_is_of(run.run_id, line) for line in lines) - 1
                    return run, is_complete
                what = "is damaged"
            else:
                what = f"is of version {version!r:.40}, this program reads version {JOURNAL_VERSION}"
        except (msgspec.DecodeError, UnicodeDecodeError, KeyError, IndexError, TypeError, RecursionError):
            what = "is damaged"
        raise OutputRefused(
            f"{self.path}: the journal of the run here {what}; "
            "continue with the program that began it, or start again with --overwrite"
        )

    def begin(self, run: BatchRun) -> None:
        """Record `run`, before any other file of it is written."""
        self._add(msgspec.json.encode(msgspec.structs.replace(run, checksum=run.sum)))
        self.round = 0

    def begin_again(self, run: BatchRun) -> None:
        """Record that the failed lines of the run are retried."""
        num_retries = self.round + 1
        self.begin(run)
        self.round = num_retries

    def mark_complete(self) -> None:
        """Record that every line is on disk."""
        self._add(_COMPLETE)

    def close(self) -> None:
        """Release the lock; an empty journal is removed."""
        if os.fstat(self._descriptor).st_size == 0:
            self.path.unlink(missing_ok=True)
        os.close(self._descriptor)

    def _whole_lines(self) -> bytes:
        with naming_file(self.path):
            content = os.pread(self._descriptor, os.fstat(self._descriptor).st_size, 0)
        return content[: content.rfind(b"\n") + 1]

    def _add(self, line: bytes) -> None:
        begin = len(self._whole_lines())
        try:
            os.ftruncate(self._descriptor, begin)
            write_at(self._descriptor, begin, line)
            os.fsync(self._descriptor)
            sync_directory(self.path.parent)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, begin)
            raise OutputFailed(f"{self.path}: {error.strerror} after {begin} bytes") from None

    def _lock(self) -> int:
        while True:
            try:
                descriptor = open_locked(self.path)
            except OSError as error:
                kind = OutputFailed if error.errno in _DISK_FAILURES else OutputRefused
                raise kind(f"{self.path}: {error.strerror}") from None
            try:
                if os.path.samestat(os.fstat(descriptor), self.path.stat()):
                    return descriptor
            except FileNotFoundError:
                pass
            except OSError as error:
                os.close(descriptor)
                raise OutputRefused(f"{self.path}: {error.strerror}") from None
            os.close(descriptor)  # the previous holder has just removed the file
