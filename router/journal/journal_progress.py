"""The progress record, which is written with every transaction.

After damage it says how many jobs the journal should hold, and up to which time.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Sequence

from cactus_actors.router.journal.record_encoding import DamagedRecord, decoded_progress, encoded
from cactus_actors.router.state.journal_records import JournalProgress


class ProgressWriter:
    """Counts the transactions of one journal and the jobs in it.

    It holds `num_jobs`, of which the oldest that can be read was accepted at `oldest_at`; `is_readable` is true if
    all can be read.
    """

    def __init__(
        self,
        database: sqlite3.Connection,
        num_jobs: int,
        oldest_at: float | None = None,
        *,
        is_readable: bool = True,
    ) -> None:
        """Raises sqlite3.DatabaseError."""
        self.is_short = False
        """True if jobs of the last transaction's count are missing."""
        self._last = JournalProgress(0, num_jobs, 0.0, oldest_at, 0.0)
        is_kept = database.execute("SELECT 1 FROM sqlite_master WHERE name = 'progress'").fetchone()
        row = database.execute("SELECT record FROM progress").fetchone() if is_kept else None
        with contextlib.suppress(DamagedRecord):
            if row is not None:
                last = decoded_progress(row[0])
                self.is_short = num_jobs < last.num_jobs
                if not is_readable and last.oldest_at is not None:
                    oldest_at = last.oldest_at
                self._last = JournalProgress(last.number, num_jobs, last.at, oldest_at, last.max_delay_s or 0.0)

    @property
    def num_jobs(self) -> int:
        return self._last.num_jobs

    def write(
        self, database: sqlite3.Connection, num_added: int, accepted_at: Sequence[float], now: float
    ) -> JournalProgress:
        """Write the progress after a transaction, at Unix time `now`; then call `commit`."""
        last = self._last
        known = [last.oldest_at] if last.num_jobs and last.oldest_at is not None else []
        oldest_at = min([*known, *accepted_at], default=None)
        max_delay_s = max([last.max_delay_s or 0.0, *(now - at for at in accepted_at)])
        progress = JournalProgress(last.number + 1, last.num_jobs + num_added, now, oldest_at, max_delay_s)
        database.execute("INSERT OR REPLACE INTO progress VALUES (1, ?)", (encoded(progress),))
        return progress

    def commit(self, progress: JournalProgress) -> None:
        """Record that the transaction is on disk."""
        self._last = progress
