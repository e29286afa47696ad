"""Keeps accepted and ended jobs on disk, so that they outlive the router.

SQLite in WAL mode with `synchronous=FULL`: a commit is on disk when it returns. One thread writes
everything that has come in since its last commit as one transaction, so that the router's loop never waits
for a disk and many jobs share one fsync. An append-only log would be several times faster, which the router
does not need (docs/internals/performance.md), and would have to be indexed, compacted and repaired here.

After a failed fsync, a second one does not cover the writes before it. SQLite needs no second one: it rolls the
commit back, its frames stay outside the index of the log (walFrames in its wal.c), and the next transaction
writes its own frames over them before it syncs. A checkpoint that could not sync writes its pages again in the
same way. Until then the frames of the failed commit are whole in the file, and the next process to open it would
take them for a commit: the router overwrites them immediately.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from cactus_actors.process.wall_clock import unix_offset
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.router.journal import database, picture_table
from cactus_actors.router.journal.journal_progress import ProgressWriter
from cactus_actors.router.journal.journal_reader import Shared
from cactus_actors.router.journal.record_encoding import (
    DamagedRecord,
    decoded_accepted,
    decoded_ended,
    encoded,
    with_tier,
)
from cactus_actors.router.state.ended_jobs import EndedJob
from cactus_actors.router.state.journal_records import (
    AcceptedRecord,
    EndedRecord,
    Entry,
    Forget,
    ForgetPictures,
    Recovered,
    RecoveredEnd,
    WriteAccepted,
    WriteEnded,
    WriteTier,
)

RETRY_S = 1.0
GATHER_S = 0.01
"""Seconds for which entries that no client waits for may wait for others, to share an fsync with them."""
MAX_LOGGED_BYTES = 1 << 20
"""More bytes of pictures do not stay in SQLite's log: the next router computes the checksums of all of it."""

_log = logging.getLogger(__name__)


class JobJournal:
    """One directory's journal, locked for this process; entries are written in the order they were added.

    Every record ends with its CRC-32. A damaged record is left out and reported in the log. A file that SQLite
    cannot read, or that lacks jobs, is renamed; its whole records are read without SQLite (`salvage.py`) into a
    new one, and the log says what is missing.

    The writing thread calls `on_written` with the ids of accepted jobs that are on disk now, and of those whose tier
    is, once for each; `on_failed` with the ids of accepted ones that could not be written and the reason; and `on_kept`
    with the jobs whose ends are on disk. Tiers, ends and removals that failed are tried again. After a failure the
    journal retries until the disk can be written, and calls `on_written` with no job.
    """

    def __init__(self, directory: Path, *, retry_s: float = RETRY_S, gather_s: float = GATHER_S) -> None:
        """Open or create the journal; raises ConfigurationInvalid if it is in use, not accessible or too new."""
        self._path = directory / database.FILE_NAME
        self._retry_s = retry_s
        self._gather_s = gather_s
        self._lock = database.locked(directory)
        self.unix_offset = unix_offset(directory)
        try:
            self._database = database.opened(self._path)
        except BaseException:
            self._lock.close()
            raise
        self._has_tables = False
        self._using = threading.Lock()
        self._progress: ProgressWriter | None = None
        self._pictures: frozenset[bytes] = frozenset()
        """The digests of the pictures that were there when the journal was read."""
        self._entries: list[Entry | _Trial] = []
        self._wake = threading.Condition()
        self._is_urgent = self._is_closing = False
        self._thread: threading.Thread | None = None

    def recover(self, retention_s: float) -> list[Recovered]:
        """The jobs in the order of their acceptance, without those that ended more than `retention_s` ago.

        Older ones are deleted: no ended job is known for longer. Raises ConfigurationInvalid if the disk fails:
        the file itself may be whole.
        """
        try:
            jobs = self._read()
        except sqlite3.DatabaseError as error:
            if database.is_no_damage(error):
                raise ConfigurationInvalid(f"journal {self._path}: {error}") from error
            self._database.close()
            self._database = database.reopened(self._path, str(error))
            jobs = self._read()
        return self._with_pictures(self._without_old(jobs, retention_s))

    def _read(self) -> list[Recovered]:
        """All jobs in the order of their acceptance; raises sqlite3.DatabaseError for a damaged file."""
        num_rows, known = 0, []
        # ids are read as bytes: a damaged one is not text, and must not hide the other jobs
        for row in self._database.execute("SELECT CAST(job_id AS BLOB), accepted, ended FROM jobs"):
            num_rows += 1
            try:
                known.append(_recovered(row[1], row[2]))
            except DamagedRecord as error:
                name = (row[0] or b"of no name").decode(errors="replace")
                _log.error("journal %s: job %s cannot be read and is left out: %s", self._path, name, error)
        self._pictures = picture_table.digests(self._database)
        known.sort(key=lambda pair: pair[0])
        oldest_at = known[0][0] if known else None
        is_readable = len(known) == num_rows
        self._progress = ProgressWriter(self._database, num_rows, oldest_at, is_readable=is_readable)
        if self._progress.is_short:
            raise sqlite3.DatabaseError("jobs are missing")
        return [job for _, job in known]

    def _without_old(self, jobs: list[Recovered], retention_s: float) -> list[Recovered]:
        """Delete the jobs that ended too long ago, by their records: no other column has a checksum."""
        oldest = time.monotonic() + self.unix_offset - retention_s
        old = {job.job_id for job in jobs if isinstance(job, RecoveredEnd) and job.ended.ended_at < oldest}
        try:
            if old:
                self._commit([Forget(job_id) for job_id in old])
        except sqlite3.DatabaseError as error:
            _log.error("the journal %s cannot be written: %s", self._path, error)
            return jobs
        return [job for job in jobs if not (isinstance(job, RecoveredEnd) and job.job_id in old)]

    def _with_pictures(self, jobs: list[Recovered]) -> list[Recovered]:
        """Delete the pictures that no job refers to, and leave out the references of ended jobs to missing ones."""
        stored = self._pictures
        known = [job if isinstance(job, AcceptedRecord) else _with_stored(job, stored) for job in jobs]
        unused = stored - {reference.digest for job in known for reference in job.pictures}
        try:
            if unused:
                self._commit([ForgetPictures(tuple(unused))])
        except sqlite3.DatabaseError as error:
            _log.error("the journal %s cannot be written: %s", self._path, error)
        return known

    def start(
        self,
        on_written: Callable[[Sequence[str]], None],
        on_failed: Callable[[Sequence[str], str], None],
        on_kept: Callable[[Sequence[str]], None] = lambda _: None,
    ) -> None:
        """Start the writing thread, which first tests the disk; called once."""
        self._entries.append(_Trial())
        self._thread = threading.Thread(target=self._write, args=(on_written, on_failed, on_kept), name="journal")
        self._thread.start()

    @property
    def shared(self) -> Shared | None:
        """The connection for readers if only one can be open, else None."""
        return Shared(self._database, self._using) if database.is_alone(self._database) else None

    def pictures(self, digests: Sequence[bytes]) -> list[bytes]:
        """The contents of pictures, from any thread; raises StorageFailure."""
        with self._using:
            return [picture_table.read(self._database, digest) for digest in digests]

    def add(self, entry: Entry) -> None:
        """Queue an entry, after all earlier ones."""
        with self._wake:
            self._entries.append(entry)
            becomes_urgent = not self._is_urgent and _is_urgent(entry)
            self._is_urgent |= becomes_urgent
            if becomes_urgent or len(self._entries) == 1:
                self._wake.notify()

    def close(self) -> None:
        """Write the queued entries and release the directory."""
        with self._wake:
            self._is_closing = True
            self._wake.notify()
        if self._thread is not None:
            self._thread.join()
        self._database.close()
        self._lock.close()

    def _write(
        self,
        on_written: Callable[[Sequence[str]], None],
        on_failed: Callable[[Sequence[str], str], None],
        on_kept: Callable[[Sequence[str]], None],
    ) -> None:
        was_failing = False
        while entries := self._next_entries():
            accepted = [entry.job_id for entry in entries if isinstance(entry, WriteAccepted)]
            try:
                self._commit(entries)
            except Exception as error:  # any error: clients that wait for acceptance must be answered
                was_failing = True
                _log.error("the journal %s cannot be written: %s", self._path, error)
                if accepted:
                    self._write_over()
                on_failed(accepted, str(error))
                again = [entry for entry in entries if not isinstance(entry, WriteAccepted | _Trial)]
                self._try_again_later([*again, _Trial()])
                continue
            written = [entry.job_id for entry in entries if isinstance(entry, WriteAccepted | WriteTier)]
            if written or was_failing:
                on_written(written)
            was_failing = False
            if ended := [entry.job_id for entry in entries if isinstance(entry, WriteEnded)]:
                on_kept(ended)

    def _write_over(self) -> None:
        """Overwrite the frames of the failed transaction, so that a refused job is never recovered."""
        with contextlib.suppress(sqlite3.Error):
            self._commit([_Trial()])

    def _commit(self, entries: Sequence[Entry | _Trial]) -> None:
        """Write entries as one transaction; raises sqlite3.Error, and then none is written."""
        if self._progress is None:
            self._read()
        assert self._progress is not None
        accepted_at = [entry.record.accepted_at for entry in entries if isinstance(entry, WriteAccepted)]
        with self._using:
            if not self._has_tables:  # the disk was full when the file was opened
                database.make_tables(self._database)
                self._has_tables = True
            with self._database:
                num_added = sum(map(self._apply, entries))
                now = time.monotonic() + self.unix_offset
                progress = self._progress.write(self._database, num_added, accepted_at, now)
            if sum(map(_picture_bytes, entries)) > MAX_LOGGED_BYTES:
                with contextlib.suppress(sqlite3.Error):  # what is committed stays in the log
                    self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        self._progress.commit(progress)

    def _next_entries(self) -> list[Entry | _Trial]:
        """Wait for entries and take them all; none when the journal is closed."""
        with self._wake:
            while not self._entries and not self._is_closing:
                self._wake.wait()
            self._wake.wait_for(lambda: self._is_urgent or self._is_closing, self._gather_s)
            entries, self._entries, self._is_urgent = self._entries, [], False
            return entries

    def _try_again_later(self, entries: list[Entry | _Trial]) -> None:
        with self._wake:
            if self._is_closing:
                return
            self._entries = entries + self._entries
            self._wake.wait_for(lambda: self._is_closing, self._retry_s)

    def _apply(self, entry: Entry | _Trial) -> int:
        """Write one entry; returns the change of the number of jobs."""
        execute = self._database.execute
        match entry:
            case WriteAccepted(job_id, accepted, pictures):
                picture_table.write(self._database, pictures)
                record = encoded(accepted)
                if execute("INSERT OR IGNORE INTO jobs VALUES (?, ?, NULL, NULL)", (job_id, record)).rowcount:
                    return 1
                again = "UPDATE jobs SET accepted = ?, ended = NULL, ended_at = NULL WHERE job_id = ?"
                execute(again, (record, job_id))
            case WriteEnded(job_id, ended):
                execute(
                    "UPDATE jobs SET ended = ?, ended_at = ? WHERE job_id = ?",
                    (encoded(ended), ended.ended_at, job_id),
                )
            case WriteTier(job_id, tier):
                for (column,) in execute("SELECT accepted FROM jobs WHERE job_id = ?", (job_id,)).fetchall():
                    with contextlib.suppress(DamagedRecord):  # the next router reports it
                        execute("UPDATE jobs SET accepted = ? WHERE job_id = ?", (with_tier(column, tier), job_id))
            case ForgetPictures(digests):
                picture_table.delete(self._database, digests)
            case Forget(job_id):
                return -execute("DELETE FROM jobs WHERE job_id = ?", (job_id,)).rowcount
            case _Trial():  # pages are written, though their content stays
                execute("INSERT INTO jobs VALUES ('', x'', NULL, NULL)")
                execute("DELETE FROM jobs WHERE job_id = ''")
        return 0


class _Trial:
    """An entry that changes nothing and tests the disk."""


def _is_urgent(entry: Entry) -> bool:
    """True if a client waits until the entry is on disk."""
    match entry:
        case WriteAccepted():
            return not entry.is_background
        case WriteTier():
            return True
    return False


def _picture_bytes(entry: Entry | _Trial) -> int:
    return sum(len(picture.content) for picture in entry.pictures) if isinstance(entry, WriteAccepted) else 0


def _recovered(accepted_bytes: object, ended_bytes: object) -> tuple[float, Recovered]:
    """The time of acceptance and the job of a row, an ended one without its result; raises DamagedRecord."""
    accepted = decoded_accepted(accepted_bytes)
    if ended_bytes is None:
        return accepted.accepted_at, accepted
    return accepted.accepted_at, end_of(accepted, decoded_ended(ended_bytes))


def end_of(accepted: AcceptedRecord, ended: EndedRecord) -> RecoveredEnd:
    """The part of an ended job that the router keeps in memory."""
    submit, length = accepted.submit, ended.finished.length
    job = EndedJob(accepted.digest, ended.state, length, ended.ended_at, accepted.tenant, submit.keyed)
    return RecoveredEnd(submit.job_id, job, tuple(accepted.pictures))


def _with_stored(job: RecoveredEnd, stored: frozenset[bytes]) -> RecoveredEnd:
    return replace(job, pictures=tuple(reference for reference in job.pictures if reference.digest in stored))
