"""The two result files of a run, from partial to final."""

from __future__ import annotations

from pathlib import Path

from cactus_actors.batch.batch_errors import naming_file
from cactus_actors.batch.custom_id_set import custom_id_hash
from cactus_actors.batch.paths import BatchPaths, sync_directory
from cactus_actors.batch.result_file import ResultFile


class BatchOutput:
    """Stores finished lines, each once. Lines survive a kill, and after `sync` a power failure."""

    def __init__(self, paths: BatchPaths) -> None:
        self._results = ResultFile(paths.partial_output)
        try:
            self._errors = ResultFile(paths.partial_errors)
        except BaseException:
            self._results.close()
            raise

    @property
    def num_succeeded(self) -> int:
        """Number of lines in the output."""
        return len(self._results.done)

    @property
    def num_failed(self) -> int:
        """Number of lines in the error file."""
        return len(self._errors.done)

    def has(self, custom_id: str) -> bool:
        return self._has(custom_id_hash(custom_id))

    def add(self, custom_id: str, line: bytes, *, succeeded: bool) -> None:
        """Write a finished line; after OutputFailed it counts as not done."""
        key = custom_id_hash(custom_id)
        assert not self._has(key)
        file = self._results if succeeded else self._errors
        file.append(line)
        file.done.add(key)

    def sync(self) -> None:
        """Write every line to disk; lines lost in OutputFailed are run again."""
        self._results.sync()
        self._errors.sync()

    def close(self) -> None:
        """Close the files after a last attempt to sync."""
        self._results.close()
        self._errors.close()

    def _has(self, key: int) -> bool:
        return key in self._results.done or key in self._errors.done


def num_results(paths: BatchPaths) -> tuple[int | None, int | None]:
    """The numbers of succeeded and failed lines in the files, which are repaired; None without a file.

    Raises OutputLocked while a run writes them, or OutputFailed.
    """
    return _num_lines(paths.partial_output, paths.output), _num_lines(paths.partial_errors, paths.errors)


def _num_lines(partial: Path, final: Path) -> int | None:
    path = partial if partial.exists() else final
    if not path.exists():
        return None
    file = ResultFile(path)
    file.close()
    return len(file.done)


def discard_partial(paths: BatchPaths) -> None:
    """Remove the partial files of an abandoned run."""
    for path in (paths.partial_output, paths.partial_errors, *paths.of_second_pass):
        with naming_file(path):
            path.unlink(missing_ok=True)


def reopen_failed(paths: BatchPaths) -> None:
    """Rename final files back to partial ones; can be repeated."""
    with naming_file(paths.output):
        for partial, final in ((paths.partial_output, paths.output), (paths.partial_errors, paths.errors)):
            if final.exists():
                final.replace(partial)
        sync_directory(paths.output.parent)


def discard_failed(paths: BatchPaths) -> None:
    """Discard the failed lines, so that they are run again."""
    with naming_file(paths.partial_errors):
        paths.partial_errors.unlink(missing_ok=True)


def publish(paths: BatchPaths) -> None:
    """Rename the partial files to the final ones; can be repeated after a kill.

    An empty error file is removed, together with one of an earlier run.
    """
    with naming_file(paths.output):
        if paths.partial_errors.exists() and not paths.partial_errors.stat().st_size:
            if paths.errors.exists():
                paths.errors.unlink()
                sync_directory(paths.output.parent)  # before the partial file is removed, so that it cannot reappear
            paths.partial_errors.unlink()
        for partial, final in ((paths.partial_errors, paths.errors), (paths.partial_output, paths.output)):
            if partial.exists():
                partial.replace(final)
        sync_directory(paths.output.parent)
