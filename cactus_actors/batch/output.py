"""The two result files of a run, from partial to final."""

from __future__ import annotations

import os
import time

from cactus_actors.batch.failures import OutputFailed
from cactus_actors.batch.paths import BatchPaths
from cactus_actors.batch.result_file import ResultFile
from cactus_actors.batch.scan import id_key

SYNC_EVERY_S = 1.0


class BatchOutput:
    """Takes finished lines, each once; what it holds survives a kill, after a second a power cut."""

    def __init__(self, paths: BatchPaths) -> None:
        self._files: tuple[ResultFile, ...] = ()
        self._results = ResultFile(paths.partial_output)
        self._files = (self._results,)
        self._errors = ResultFile(paths.partial_errors)
        self._files = (self._results, self._errors)
        self._synced_at = time.monotonic()

    @property
    def num_succeeded(self) -> int:
        """Lines in the output."""
        return len(self._results.done)

    @property
    def num_failed(self) -> int:
        """Lines in the error file."""
        return len(self._errors.done)

    def has(self, custom_id: str) -> bool:
        """Whether that line is done."""
        key = id_key(custom_id)
        return key in self._results.done or key in self._errors.done

    def add(self, custom_id: str, line: bytes, *, succeeded: bool) -> None:
        """Write a finished line; raises OutputFailed, and then it is not done."""
        file = self._results if succeeded else self._errors
        file.append(line)
        file.done.add(id_key(custom_id))
        if time.monotonic() - self._synced_at >= SYNC_EVERY_S:
            self.sync()

    def sync(self) -> None:
        """Return when every line is on the disk."""
        for file in self._files:
            file.sync()
        self._synced_at = time.monotonic()

    def close(self) -> None:
        """Release the files."""
        for file in self._files:
            file.close()


def discard_partial(paths: BatchPaths) -> None:
    """Remove what an abandoned run left."""
    for path in (paths.partial_output, paths.partial_errors):
        path.unlink(missing_ok=True)


def publish(paths: BatchPaths) -> None:
    """Rename the partial files to the final ones; can be repeated after a kill in between."""
    try:
        for partial, final in (
            (paths.partial_errors, paths.errors),
            (paths.partial_output, paths.output),
        ):
            if partial.exists():
                partial.replace(final)
        directory = os.open(paths.output.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
    except OSError as error:
        raise OutputFailed(f"{paths.output}: {error.strerror}") from None
