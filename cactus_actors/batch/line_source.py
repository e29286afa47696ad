"""Where the lines of a run come from: a prompt file, or anything else that can be read again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, Self

from cactus_actors.batch.prompt_file import Format, PromptFile, RawLine


class LineReader(Protocol):
    """One pass over lines; a context that closes what it reads.

    `digest` is the SHA-256 of what was read so far, `stamp` changes with most modifications of a file.
    """

    @property
    def name(self) -> str: ...

    @property
    def digest(self) -> str: ...

    @property
    def stamp(self) -> tuple[int, ...]: ...

    def format(self) -> Format:
        """The format of all lines."""

    def lines(self) -> Iterator[RawLine]:
        """Every line that is not blank; can be read once."""

    def reopened(self) -> LineReader:
        """Another pass over the same lines."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class LineSource(Protocol):
    """Lines that are the same in every pass; `str` of it names it in errors.

    `parameters` are those on which its lines depend. `files` are those of this machine that it reads: no output may
    replace them.
    """

    @property
    def files(self) -> Sequence[Path]: ...

    @property
    def parameters(self) -> Mapping[str, Any]: ...

    def open(self) -> LineReader:
        """A new pass; raises InputInvalid."""


def opened(source: Path | LineSource) -> LineReader:
    """A pass over a prompt file or another source; raises InputInvalid."""
    return PromptFile(source) if isinstance(source, Path) else source.open()


@dataclass(frozen=True)
class FirstLines:
    """A LineSource: the first lines of a prompt file that are not blank."""

    path: Path
    limit: int

    def __str__(self) -> str:
        return str(self.path)

    @property
    def files(self) -> Sequence[Path]:
        return (self.path,)

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {"limit": self.limit}

    def open(self) -> LineReader:
        """A new pass; raises InputInvalid."""
        return _FirstLinesFile(self)


class _FirstLinesFile(PromptFile):
    def __init__(self, source: FirstLines) -> None:
        super().__init__(source.path)
        self._source = source

    def lines(self) -> Iterator[RawLine]:
        return islice(super().lines(), self._source.limit)

    def reopened(self) -> _FirstLinesFile:
        return _FirstLinesFile(self._source)
