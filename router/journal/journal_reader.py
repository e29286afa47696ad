"""Reads results from the journal, in another thread than the one that writes."""

from __future__ import annotations

import contextlib
import logging
import queue
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from cactus_actors.router.journal.database import FILE_NAME
from cactus_actors.router.journal.record_encoding import DamagedRecord, decoded_accepted, decoded_ended
from cactus_actors.router.state.journal_records import StoredResult

_log = logging.getLogger(__name__)


class Shared(NamedTuple):
    """A connection that is used while the lock is held."""

    connection: sqlite3.Connection
    lock: threading.Lock


class JournalReader:
    """Reads ended jobs; calls `on_read` from the reading thread with each result.

    The result is None for a job that is not there, has not ended, or cannot be read. The journal in `directory` must
    have been recovered; where only one connection to it can be open, that is `shared`.
    """

    def __init__(
        self,
        directory: Path,
        on_read: Callable[[str, StoredResult | None], None],
        shared: Shared | None = None,
    ) -> None:
        self._path = directory / FILE_NAME
        self._shared = shared
        self._on_read = on_read
        self._requests: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="journal-reader")
        self._thread.start()

    def ask(self, job_id: str) -> None:
        self._requests.put(job_id)

    def close(self) -> None:
        """Read the remaining jobs and end."""
        self._requests.put(None)
        self._thread.join()

    def _run(self) -> None:
        if self._shared is not None:
            self._answer(*self._shared)
            return
        with contextlib.closing(sqlite3.connect(self._path)) as connection:
            self._answer(connection, threading.Lock())

    def _answer(self, database: sqlite3.Connection, lock: threading.Lock) -> None:
        while (job_id := self._requests.get()) is not None:
            with lock:
                found = self._read(database, job_id)
            self._on_read(job_id, found)

    def _read(self, database: sqlite3.Connection, job_id: str) -> StoredResult | None:
        try:
            row = database.execute(
                "SELECT accepted, ended FROM jobs WHERE job_id = ? AND ended IS NOT NULL", (job_id,)
            ).fetchone()
            if row is None:
                return None
            return StoredResult(decoded_accepted(row[0]).accepted, decoded_ended(row[1]))
        except (sqlite3.Error, DamagedRecord) as error:
            _log.error("journal %s: the result of job %s cannot be read: %s", self._path, job_id, error)
            return None
