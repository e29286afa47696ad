"""How far the journal has come: a record that is written with every transaction.

It says after damage how many jobs there should be, and up to when.
"""

from __future__ import annotations

import contextlib
import sqlite3

from router.journal.encoding import Damaged, decoded_progress, encoded
from router.journal.records import Progress


class ProgressWriter:
    """Counts the transactions of one journal and the jobs in it."""

    def __init__(self, database: sqlite3.Connection) -> None:
        """Raises sqlite3.DatabaseError."""
        (self.num_jobs,) = database.execute("SELECT count(*) FROM jobs").fetchone()
        self._number = 0
        self.is_short = False
        """Whether jobs are missing that the last transaction left here."""
        is_kept = database.execute("SELECT 1 FROM sqlite_master WHERE name = 'progress'").fetchone()
        row = database.execute("SELECT record FROM progress").fetchone() if is_kept else None
        with contextlib.suppress(Damaged):
            if row is not None:
                last = decoded_progress(row[0])
                self._number = last.number
                self.is_short = self.num_jobs < last.num_jobs

    def write(self, database: sqlite3.Connection, num_added: int, now: float) -> Progress:
        """Write where a transaction leads that adds so many jobs, at Unix time `now`; then `commit`."""
        progress = Progress(self._number + 1, self.num_jobs + num_added, now)
        database.execute("INSERT OR REPLACE INTO progress VALUES (1, ?)", (encoded(progress),))
        return progress

    def commit(self, progress: Progress) -> None:
        """The transaction is on disk."""
        self._number, self.num_jobs = progress.number, progress.num_jobs
