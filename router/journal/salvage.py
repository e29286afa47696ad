"""Recovers the whole records of a damaged journal, by their checksums, and counts the missing ones."""

from __future__ import annotations

import contextlib
import logging
import math
import mmap
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from cactus_actors.router.journal.record_encoding import (
    DamagedRecord,
    decoded_accepted,
    decoded_ended,
    decoded_progress,
)
from cactus_actors.router.journal.sqlite_pages import Pages, Value
from cactus_actors.router.state.journal_records import JournalProgress

_log = logging.getLogger(__name__)


@dataclass
class Salvage:
    """The jobs of a damaged file as rows of the new one, by id, and its progress.

    A job whose end is lost runs again, to the same tokens.
    """

    accepted: dict[str, tuple[float, bytes]] = field(default_factory=dict)
    ended: dict[str, tuple[float, bytes]] = field(default_factory=dict)
    progress: JournalProgress | None = None

    def add(self, row: tuple[Value, ...]) -> None:
        """Add a row of any table, if the checksums of its records are right."""
        with contextlib.suppress(DamagedRecord):
            match row:
                case (_, bytes() as progress):
                    self._add_progress(decoded_progress(progress))
                case (_, bytes() as accepted, ended, _):
                    self._add_accepted(accepted)
                    if ended is not None:
                        self._add_ended(ended)

    def rows(self) -> Iterator[tuple[str, bytes, bytes | None, float | None]]:
        """The rows of the table of jobs."""
        for job_id, (accepted_at, accepted) in self.accepted.items():
            ended_at, ended = self.ended.get(job_id, (0.0, b""))
            if ended and ended_at >= accepted_at:  # else it belongs to an earlier job of that id
                yield job_id, accepted, ended, ended_at
            else:
                yield job_id, accepted, None, None

    def _add_progress(self, progress: JournalProgress) -> None:
        if self.progress is None or progress.number > self.progress.number:
            self.progress = progress

    def _add_accepted(self, content: bytes) -> None:
        record = decoded_accepted(content)
        known = self.accepted.get(record.submit.job_id)
        if known is None or record.accepted_at > known[0]:
            self.accepted[record.submit.job_id] = (record.accepted_at, content)

    def _add_ended(self, content: Value) -> None:
        record = decoded_ended(content)
        known = self.ended.get(record.finished.job_id)
        if isinstance(content, bytes) and (known is None or record.ended_at > known[0]):
            self.ended[record.finished.job_id] = (record.ended_at, content)


def salvaged(path: Path) -> Salvage:
    """The readable records of the journal at `path` and of its log; raises OSError."""
    salvage = Salvage()
    with _mapped(path) as database, _mapped(log_of(path)) as log:
        for row in Pages(database, log).rows():
            salvage.add(row)
    return salvage


def refill(database: sqlite3.Connection, salvage: Salvage, hole: JournalProgress | None, path: Path) -> None:
    """Write the salvaged jobs to a new journal, and log the missing ones.

    `hole` is the journal's progress before the missing records, None if unknown.
    """
    with database:
        database.executemany("INSERT OR REPLACE INTO jobs VALUES (?, ?, ?, ?)", salvage.rows())
    num_found = len(salvage.accepted)
    _log.error("journal %s: %d jobs are salvaged, %s", path, num_found, _missing(salvage.progress, num_found, hole))


def has_hole(path: Path) -> JournalProgress | None:
    """The last progress that SQLite reads, if the log continues after a damaged frame; None if it does not."""
    if not log_of(path).exists():
        return None
    salvage = Salvage()
    with _mapped(log_of(path)) as log:
        for row in Pages(b"", log).rows():
            if len(row) == 2:
                salvage.add(row)
    if salvage.progress is None:
        return None
    read = _progress_by_sqlite(path)
    return read if read is not None and read.number < salvage.progress.number else None


def log_of(path: Path) -> Path:
    """SQLite's write-ahead log of a database."""
    return path.with_name(f"{path.name}-wal")


def _progress_by_sqlite(path: Path) -> JournalProgress | None:
    """Read only: a connection that may write would fold the log into the file when it closes."""
    with contextlib.suppress(sqlite3.Error, DamagedRecord):
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        with contextlib.closing(connection):
            row = connection.execute("SELECT record FROM progress").fetchone()
            return None if row is None else decoded_progress(row[0])
    return None


def _missing(progress: JournalProgress | None, num_found: int, hole: JournalProgress | None) -> str:
    if progress is None:
        return "how many are missing is not known"
    if progress.num_jobs <= num_found:
        return "none is known to be missing"
    since = _since(progress, hole)
    until = _told(math.ceil(progress.at))
    between = f"before {until}" if since is None else f"between {_told(since)} and {until}"
    return f"at least {progress.num_jobs - num_found} are missing, accepted {between}"


def _since(progress: JournalProgress, hole: JournalProgress | None) -> float | None:
    """The Unix time before which no job of those that may be missing was accepted, if that is known."""
    bounds = [] if progress.oldest_at is None else [progress.oldest_at]
    if hole is not None and progress.max_delay_s is not None:
        bounds.append(hole.at - progress.max_delay_s)
    return max(bounds, default=None)


def _told(unix_s: float) -> str:
    return datetime.fromtimestamp(math.floor(unix_s), UTC).isoformat(timespec="seconds")


@contextlib.contextmanager
def _mapped(path: Path) -> Iterator[bytes | memoryview]:
    try:
        file = path.open("rb")
    except FileNotFoundError:
        yield b""
        return
    with file:
        if not path.stat().st_size:
            yield b""
            return
        yield memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
