"""The files of one run, next to the output."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from cactus_actors.batch.batch_errors import OutputRefused, naming_file
from cactus_actors.batch.line_source import LineSource


@dataclass(frozen=True)
class BatchPaths:
    """Paths derived from `output`; partial files get their final names when the run is complete."""

    source: Path | LineSource
    output: Path

    @classmethod
    def of(cls, source: Path | LineSource, output: Path) -> BatchPaths:
        """The paths of a run; a symbolic link stands for its target, so that all runs that write it share a lock."""
        return cls(source, output.resolve() if output.is_symlink() else output)

    @property
    def errors(self) -> Path:
        return self.output.with_name(f"{self.output.stem}.errors.jsonl")

    @property
    def journal(self) -> Path:
        """The journal; written before the first line and kept next to the finished output."""
        return self.output.with_name(f"{self.output.name}.journal")

    @property
    def partial_output(self) -> Path:
        """Results so far."""
        return self.output.with_name(f"{self.output.name}.partial")

    @property
    def partial_errors(self) -> Path:
        """Errors so far."""
        return self.errors.with_name(f"{self.errors.name}.partial")

    @property
    def pass_journal(self) -> Path:
        """The journal of an unfinished second pass."""
        return self.output.with_name(f"{self.output.name}.second-pass")

    @property
    def pass_answers(self) -> Path:
        """The answers of the second pass so far."""
        return self.output.with_name(f"{self.output.name}.second-pass-answers")

    @property
    def merged_output(self) -> Path:
        """The results with the answers of the second pass, until they replace the output."""
        return self.output.with_name(f"{self.output.name}.second-pass-results")

    @property
    def of_second_pass(self) -> tuple[Path, ...]:
        """The files of an unfinished second pass, in the order in which they are removed."""
        return self.merged_output, self.pass_journal, self.pass_answers

    def check(self) -> None:
        """Raise OutputRefused if the output cannot be written or is not a result file."""
        check_name(self.output)
        with naming_file(self.output, OutputRefused):
            if not self.output.parent.is_dir():
                raise OutputRefused(f"{self.output}: there is no directory {self.output.parent}")
            results = (self.output, self.errors, self.journal, self.partial_output, self.partial_errors)
            for path in (*results, *self.of_second_pass):
                _check_replaceable(path, self.source)

    def check_journal_exists(self) -> None:
        """Raise OutputRefused if there are result files without a journal."""
        for path in (self.errors, self.partial_output, self.partial_errors):
            if path.exists() and path.stat().st_size:
                raise OutputRefused(
                    f"{path}: has results, but {self.journal} records no run; --overwrite discards them"
                )


def check_name(output: Path) -> None:
    """Raise OutputRefused for a path without a file name."""
    if not output.name:
        raise OutputRefused(f"{output}: is a directory")


def _check_replaceable(path: Path, source: Path | LineSource) -> None:
    if path.is_dir():
        raise OutputRefused(f"{path}: is a directory")
    if not path.exists():
        return
    if not path.is_file():
        raise OutputRefused(f"{path}: is not a regular file; choose another output")
    files = (source,) if isinstance(source, Path) else source.files
    if any(file.exists() and path.samefile(file) for file in files):
        raise OutputRefused(f"{path}: is the input; choose another output")


def sync_directory(directory: Path) -> None:
    """Write the directory's entries to disk; raises OSError."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
