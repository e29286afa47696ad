"""A journal that a test writes and reads, and records for it."""

from __future__ import annotations

import queue
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cactus_actors.protocol.messages import Accepted, Finished, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.results import Result
from cactus_actors.router.journal.job_journal import GATHER_S, JobJournal, end_of
from cactus_actors.router.journal.journal_reader import JournalReader
from cactus_actors.router.state.journal_records import (
    AcceptedRecord,
    EndedRecord,
    RecoveredEnd,
    StoredResult,
    WriteAccepted,
)

PATIENCE_S = 60.0


class Writer:
    """A journal that is open for writing, and its reports."""

    def __init__(self, directory: Path, gather_s: float = GATHER_S) -> None:
        self.journal = JobJournal(directory, retry_s=0.05, gather_s=gather_s)
        self.said: queue.Queue[tuple[list[str], str]] = queue.Queue()
        self.journal.start(self.on_written, self.on_failed)

    @property
    def database(self) -> sqlite3.Connection:
        """The journal's own connection, whose limits a test may change."""
        return self.journal._database

    def on_written(self, job_ids: Sequence[str]) -> None:
        self.said.put((list(job_ids), ""))

    def on_failed(self, job_ids: Sequence[str], reason: str) -> None:
        self.said.put((list(job_ids), reason))

    def accept(self, name: str) -> tuple[list[str], str]:
        record: Any = accepted(name)  # with all of `submit`, like earlier versions
        self.journal.add(WriteAccepted(name, record))
        return self.said.get(timeout=PATIENCE_S)


def accepted(name: str, at: float = 0.0) -> AcceptedRecord:
    reply = Accepted(job_id=name, epoch=1, prompt_tokens=2, seed=3, durable=True)
    return AcceptedRecord(Submit(job_id=name, prompt=["é", 7], options=Options(seed=3)), b"digest", reply, "m", at)


def ended(name: str, at: float | None = None) -> EndedRecord:
    finished = Finished(job_id=name, length=2, result=Result(text="ab", token_ids=[1, 2]))
    return EndedRecord(finished, "finished", [1, 2], ["a", "b"], "", time.time() if at is None else at)


def found(directory: Path, retention_s: float = 600.0) -> dict[str, AcceptedRecord | StoredResult]:
    """The state that a router recovers: jobs to run, and ended ones, whose results it reads later."""
    journal = JobJournal(directory)
    jobs = journal.recover(retention_s)
    results = read(directory, *(job.job_id for job in jobs if isinstance(job, RecoveredEnd)))
    journal.close()
    known: dict[str, AcceptedRecord | StoredResult] = {}
    for job in jobs:
        if isinstance(job, AcceptedRecord):
            known[job.submit.job_id] = job
        else:
            result = results[job.job_id]
            assert result is not None
            assert job == end_of(accepted(job.job_id), result.ended)
            known[job.job_id] = result
    return known


def read(directory: Path, *names: str) -> dict[str, StoredResult | None]:
    answers: dict[str, StoredResult | None] = {}
    reader = JournalReader(directory, answers.__setitem__)
    for name in names:
        reader.ask(name)
    reader.close()
    return answers


def remembered(name: str, end: EndedRecord) -> StoredResult:
    return StoredResult(accepted(name).accepted, end)
