"""Small records on disk: one JSON file each, written atomically."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from cactus_actors.process.private_directories import make_private, replace_private
from cactus_actors.protocol.errors import StorageFailure


class StoredRecord(msgspec.Struct, kw_only=True):
    """Fields of every record: its time in Unix seconds, and the tenant's name.

    `taken_at` is the same by the clock of `wall_clock.py`; old records lack it.
    """

    created_at: float
    tenant: str = ""
    taken_at: float | None = None

    @property
    def begins_at(self) -> float:
        """Start of its retention, by the clock of `taken_at`."""
        return self.created_at if self.taken_at is None else self.taken_at


R = TypeVar("R", bound=StoredRecord)


class RecordFiles(Generic[R]):
    """The records of one kind in a directory, by name; all of them are in memory, oldest first."""

    def __init__(self, directory: Path, kind: type[R]) -> None:
        """Read the directory; files that are not records are ignored. Raises StorageFailure."""
        self._directory = directory
        self._decoder = msgspec.json.Decoder(kind)
        try:
            make_private(directory)
            self._records = dict(sorted(self._read(), key=lambda item: item[1].created_at))
        except OSError as error:
            raise StorageFailure(f"{directory}: {error.strerror}") from None

    def get(self, name: str) -> R | None:
        """The record of that name."""
        return self._records.get(name)

    def items(self) -> list[tuple[str, R]]:
        """All records and their names."""
        return list(self._records.items())

    def put(self, name: str, record: R) -> None:
        """Write a record, in place of an older one of its name; raises StorageFailure."""
        path = self._path(name)
        try:
            replace_private(path, msgspec.json.encode(record))
        except OSError as error:
            raise StorageFailure(f"{path}: {error.strerror}") from None
        self._records[name] = record

    def remove(self, name: str) -> None:
        """Remove a record."""
        self._records.pop(name, None)
        self._path(name).unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self._directory / f"{name}.json"

    def _read(self) -> Iterator[tuple[str, R]]:
        for path in self._directory.glob("*.json"):
            try:
                yield path.stem, self._decoder.decode(path.read_bytes())
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                continue
