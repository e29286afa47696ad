"""Recovers the whole records of a damaged journal, by their checksums, and counts the missing ones."""

from __future__ import annotations

import contextlib
import logging
import math
import mmap
import sqlite3
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from cactus_actors.router.journal import picture_table
from cactus_actors.router.journal.record_encoding import (
    DamagedRecord,
    decoded_accepted,
    decoded_ended,
    decoded_progress,
)
from cactus_actors.router.journal.sqlite_pages import Pages, Value
from cactus_actors.router.state.journal_records import JournalProgress

MAX_PROGRESS_BYTES = 1024
"""More than a progress record has; rows with pictures would take seconds to read."""

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


def refill(database: sqlite3.Connection, salvage: Salvage, damage: LogDamage | None, path: Path) -> None:
    """Write the salvaged jobs and pictures to a new journal, and log the number and times of the missing jobs."""
    with database:
        database.executemany("INSERT OR REPLACE INTO jobs VALUES (?, ?, ?, ?)", salvage.rows())
    with database, _mapped(path) as content, _mapped(log_of(path)) as log:  # one by one: memory may not hold all
        rows = picture_table.whole_rows(Pages(content, log).rows())
        database.executemany("INSERT OR IGNORE INTO pictures VALUES (?, ?, ?)", rows)
    num_found = len(salvage.accepted)
    _log.error("journal %s: %d jobs are salvaged, %s", path, num_found, _missing(salvage.progress, num_found, damage))


@dataclass(frozen=True, slots=True)
class LogDamage:
    """SQLite reads a journal's log up to `read`, and transactions that were on disk after that are damaged.

    The log was written last at the Unix time `written_at`.
    """

    reason: str
    read: JournalProgress
    written_at: float


def log_damage(path: Path) -> LogDamage | None:
    """The damage of the journal's log; None for a sound log, or one whose last transaction was never on disk.

    A torn write leaves a part of one transaction. So the log is damaged if a later transaction follows, if the
    transaction is there up to its commit, or if SQLite's index of the log, which is written after the log is on
    disk, counts more frames than can be read. A log without its index that is wrong in its last transaction alone
    may be either, and counts as torn if its commit or its progress record is lost.
    """
    with _mapped(log_of(path)) as log:
        pages = Pages(b"", log)
        num_lost = _num_indexed_frames(path, log) - pages.num_readable
        latest = _progress_in(pages.rows(max_bytes=MAX_PROGRESS_BYTES))
        if latest is None and num_lost <= 0:
            return None
        readable = pages.rows(readable_only=True, max_bytes=MAX_PROGRESS_BYTES)
        read = _progress_in(readable) or _progress_in_file(path)
        if latest is not None and latest.number == read.number + 1:
            latest = _progress_in(pages.rows(committed_only=True, max_bytes=MAX_PROGRESS_BYTES))
    if latest is not None and latest.number > read.number:
        reason = f"its log has a hole after {read.num_jobs} jobs"
    elif num_lost > 0:
        reason = f"the last {num_lost} pages of its log are damaged, after {read.num_jobs} jobs"
    else:
        return None
    return LogDamage(reason, read, log_of(path).stat().st_mtime)


def log_of(path: Path) -> Path:
    """SQLite's write-ahead log of a database."""
    return path.with_name(f"{path.name}-wal")


def _progress_in(rows: Iterable[tuple[Value, ...]]) -> JournalProgress | None:
    """The last progress record among these rows."""
    salvage = Salvage()
    for row in rows:
        if len(row) == 2:
            salvage.add(row)
    return salvage.progress


def _progress_in_file(path: Path) -> JournalProgress:
    """The progress record that the journal's file holds without its log, which stays as it is."""
    with contextlib.suppress(sqlite3.Error, DamagedRecord):
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        with contextlib.closing(connection):
            row = connection.execute("SELECT record FROM progress").fetchone()
            if row is not None:
                return decoded_progress(row[0])
    return JournalProgress(0, 0, 0.0)


def _num_indexed_frames(path: Path, log: bytes | memoryview) -> int:
    """The committed frames of the log by SQLite's index of it; 0 if the index is lost or of an earlier log.

    The index begins with two equal headers (https://www.sqlite.org/walformat.html).
    """
    try:
        with path.with_name(f"{path.name}-shm").open("rb") as index:
            first, second = index.read(48), index.read(48)
    except OSError:
        return 0
    is_of_log = len(second) == 48 and first == second and first[32:40] == log[16:24]
    return int.from_bytes(first[16:20], sys.byteorder) if is_of_log else 0


def _missing(progress: JournalProgress | None, num_found: int, damage: LogDamage | None) -> str:
    if damage is not None and (progress is None or progress.number <= damage.read.number):
        written = _span(damage.read.at or None, max(damage.read.at, damage.written_at))
        return f"an unknown number is missing, written {written}"
    if progress is None:
        return "how many are missing is not known"
    if progress.num_jobs <= num_found:
        return "none is known to be missing"
    accepted = _span(_since(progress, damage), progress.at)
    return f"at least {progress.num_jobs - num_found} are missing, accepted {accepted}"


def _since(progress: JournalProgress, damage: LogDamage | None) -> float | None:
    """The Unix time before which no job of those that may be missing was accepted, if that is known."""
    bounds = [] if progress.oldest_at is None else [progress.oldest_at]
    if damage is not None and progress.max_delay_s is not None:
        bounds.append(damage.read.at - progress.max_delay_s)
    return max(bounds, default=None)


def _span(since: float | None, until: float) -> str:
    start = "" if since is None else datetime.fromtimestamp(math.floor(since), UTC).isoformat()
    end = datetime.fromtimestamp(math.ceil(until), UTC).isoformat()
    return f"between {start} and {end}" if start else f"before {end}"


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
