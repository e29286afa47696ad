"""The journal's file: written records are recovered, and errors are reported."""

from __future__ import annotations

import contextlib
import queue
import shutil
import sqlite3
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.router.journal.job_journal import JobJournal, end_of
from cactus_actors.router.journal.record_encoding import decoded_accepted
from cactus_actors.router.state.journal_records import (
    AcceptedRecord,
    Forget,
    JobTier,
    StoredResult,
    WriteAccepted,
    WriteEnded,
    WriteTier,
)
from tests.support.fuzzing.judging import fuzzed
from tests.support.router.journals import (
    PATIENCE_S,
    Writer,
    accepted,
    ended,
    found,
    read,
    remembered,
)


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Writer]:
    writer = Writer(tmp_path)
    yield writer
    writer.journal.close()


def test_written_records_are_recovered_by_the_next_router(writer: Writer, tmp_path: Path) -> None:
    assert writer.accept("one") == (["one"], "")
    writer.accept("two")
    end = ended("two")
    writer.journal.add(WriteEnded("two", end))
    writer.journal.close()
    assert found(tmp_path) == {
        "one": accepted("one"),
        "two": remembered("two", end),
    }


def test_confirmed_records_are_in_the_file(writer: Writer, tmp_path: Path) -> None:
    writer.accept("one")
    (tmp_path / "copy").mkdir()
    for name in ("jobs.sqlite", "jobs.sqlite-wal"):  # as after a kill
        shutil.copy(tmp_path / name, tmp_path / "copy" / name)
    assert list(found(tmp_path / "copy")) == ["one"]


def test_entries_that_no_client_waits_for_are_written_with_the_next_that_one_waits_for(tmp_path: Path) -> None:
    writer = Writer(tmp_path, gather_s=PATIENCE_S)
    try:
        for name in ("one", "two"):
            writer.journal.add(WriteAccepted(name, accepted(name), is_background=True))
        writer.journal.add(WriteEnded("one", ended("one")))
        with pytest.raises(queue.Empty):
            writer.said.get(timeout=0.2)
        writer.journal.add(WriteAccepted("three", accepted("three")))
        assert writer.said.get(timeout=PATIENCE_S / 2) == (["one", "two", "three"], "")
        writer.journal.add(WriteTier("three", JobTier("large", 0.5)))
        assert writer.said.get(timeout=PATIENCE_S / 2) == (["three"], "")
    finally:
        writer.journal.close()


def test_jobs_come_in_the_order_of_their_acceptance(writer: Writer, tmp_path: Path) -> None:
    for name, at in (("late", 9.0), ("early", 1.0), ("middle", 5.0)):
        writer.journal.add(WriteAccepted(name, accepted(name, at)))
    writer.journal.close()
    assert list(found(tmp_path)) == ["early", "middle", "late"]


def test_the_tier_of_a_job_is_replaced_and_that_of_an_unknown_or_damaged_one_changes_nothing(
    writer: Writer, tmp_path: Path
) -> None:
    for name in ("one", "other", "bad"):
        writer.accept(name)
    with contextlib.closing(sqlite3.connect(tmp_path / "jobs.sqlite")) as database, database:
        database.execute("UPDATE jobs SET accepted = x'00' WHERE job_id = 'bad'")
    for name in ("one", "unknown", "bad"):
        writer.journal.add(WriteTier(name, JobTier("middle", 0.5)))
        assert writer.said.get(timeout=PATIENCE_S) == ([name], "")
    writer.journal.add(WriteTier("one", JobTier("large", 0.0)))
    writer.journal.close()
    jobs = found(tmp_path)
    assert jobs.keys() == {"one", "other"}
    assert jobs["other"] == accepted("other")
    assert jobs["one"] == msgspec.structs.replace(accepted("one"), tier=JobTier("large", 0.0))


def test_a_record_of_an_earlier_version_is_read() -> None:
    record = accepted("a")
    content = msgspec.msgpack.encode(msgspec.structs.astuple(record)[:-1])
    assert decoded_accepted(content + zlib.crc32(content).to_bytes(4, "little")) == record


def test_old_results_are_not_found_but_old_jobs_are(writer: Writer, tmp_path: Path) -> None:
    for name in ("waiting", "old", "fresh"):
        writer.accept(name)
    writer.journal.add(WriteEnded("old", ended("old", at=time.time() - 700)))
    writer.journal.add(WriteEnded("fresh", ended("fresh", at=time.time() - 500)))
    writer.journal.close()
    assert set(found(tmp_path, retention_s=600.0)) == {"waiting", "fresh"}


def test_two_services_cannot_share_a_journal(writer: Writer, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationInvalid, match=r"in use by another service.*--state-dir"):
        JobJournal(tmp_path)
    writer.journal.close()
    JobJournal(tmp_path).close()


@pytest.mark.parametrize("damage", ["no database at all", "a torn page"])
def test_an_unreadable_file_is_renamed_and_the_router_starts(writer: Writer, tmp_path: Path, damage: str) -> None:
    for number in range(50):
        writer.accept(f"{number}-{'x' * 500}")
    writer.journal.close()
    path = tmp_path / "jobs.sqlite"
    whole = path.read_bytes()
    path.write_bytes(b"no database at all" * 100 if damage == "no database at all" else whole[:10_000])
    assert found(tmp_path) == {}
    [aside] = tmp_path.glob("jobs.sqlite.damaged-*")
    assert aside.stat().st_size > 0
    after = Writer(tmp_path)
    assert after.accept("new") == (["new"], "")
    after.journal.close()
    assert list(found(tmp_path)) == ["new"]


def test_a_full_disk_at_the_start_loses_no_job(writer: Writer, tmp_path: Path) -> None:
    for name in ("waiting", "old"):
        writer.accept(name)
    writer.journal.add(WriteEnded("old", end := ended("old", at=time.time() - 700)))
    writer.journal.close()
    journal = JobJournal(tmp_path)
    journal._database.execute("PRAGMA query_only = ON")
    assert journal.recover(600.0) == [end_of(accepted("old"), end), accepted("waiting")]
    journal.close()
    assert not list(tmp_path.glob("*damaged*"))
    assert set(found(tmp_path, retention_s=600.0)) == {"waiting"}


@pytest.mark.parametrize("column", ["accepted", "ended"])
def test_a_damaged_record_is_skipped_and_reported(
    writer: Writer, tmp_path: Path, column: str, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("good", "bad"):
        writer.accept(name)
        writer.journal.add(WriteEnded(name, ended(name)))
    writer.journal.close()
    database = sqlite3.connect(tmp_path / "jobs.sqlite")
    [(record,)] = database.execute(f"SELECT {column} FROM jobs WHERE job_id = 'bad'").fetchall()
    flipped = bytes([*record[:7], record[7] ^ 1, *record[8:]])
    with database:
        database.execute(f"UPDATE jobs SET {column} = ? WHERE job_id = 'bad'", (flipped,))
    database.close()
    assert list(found(tmp_path)) == ["good"]
    assert "bad cannot be read" in caplog.text


def test_a_journal_of_another_version_is_refused(writer: Writer, tmp_path: Path) -> None:
    writer.journal.close()
    database = sqlite3.connect(tmp_path / "jobs.sqlite")
    database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(ConfigurationInvalid, match="version 99"):
        JobJournal(tmp_path)


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationInvalid, match="file/journal"):
        JobJournal(tmp_path / "file" / "journal")


def test_on_a_full_disk_jobs_are_refused_and_ends_are_written_later(writer: Writer, tmp_path: Path) -> None:
    writer.accept("one")
    database = writer.database
    (num_pages,) = database.execute("PRAGMA page_count").fetchone()
    database.execute(f"PRAGMA max_page_count = {num_pages}")  # SQLite's own error for a full disk
    refused = "x" * 100_000
    names, reason = writer.accept(refused)
    assert names == [refused]
    assert "full" in reason
    end = ended("one")
    writer.journal.add(WriteEnded("one", end))
    writer.journal.add(WriteAccepted(refused, accepted(refused)))
    assert writer.said.get(timeout=PATIENCE_S)[1]  # both failed in one transaction
    database.execute("PRAGMA max_page_count = 1000000")
    assert writer.accept("two") == (["two"], "")
    writer.journal.close()
    assert found(tmp_path) == {
        "one": remembered("one", end),
        "two": accepted("two"),
    }


def test_unknown_and_unfinished_jobs_have_no_stored_result(writer: Writer, tmp_path: Path) -> None:
    writer.accept("waiting")
    writer.accept("over")
    writer.journal.add(WriteEnded("over", end := ended("over")))
    writer.journal.add(WriteAccepted("last", accepted("last")))
    writer.said.get(timeout=PATIENCE_S)
    assert read(tmp_path, "waiting", "over", "never") == {
        "waiting": None,
        "over": remembered("over", end),
        "never": None,
    }


def test_a_result_that_was_damaged_is_not_read_back(
    writer: Writer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    writer.accept("bad")
    writer.journal.add(WriteEnded("bad", ended("bad")))
    writer.journal.close()
    database = sqlite3.connect(tmp_path / "jobs.sqlite")
    with database:
        database.execute("UPDATE jobs SET ended = x'0102030405'")
    database.close()
    assert read(tmp_path, "bad") == {"bad": None}
    assert "job bad cannot be read" in caplog.text


def test_a_failed_journal_reports_when_it_is_writable_again(writer: Writer) -> None:
    writer.accept("one")
    database = writer.database
    database.execute("PRAGMA query_only = ON")
    assert writer.accept("two")[1]
    names, reason = writer.said.get(timeout=PATIENCE_S)
    assert (names, bool(reason)) == ([], True)  # it tried, and still fails
    database.execute("PRAGMA query_only = OFF")
    while reason:
        names, reason = writer.said.get(timeout=PATIENCE_S)
    assert names == []
    assert writer.accept("three") == (["three"], "")


class JournalMachine(RuleBasedStateMachine):
    """Any records, after any number of restarts: the file holds the same as a dict."""

    names = st.sampled_from("abcd")

    def __init__(self) -> None:
        super().__init__()
        import tempfile

        self.directory = Path(tempfile.mkdtemp())
        self.jobs: dict[str, AcceptedRecord | StoredResult] = {}
        self.writer: Any = Writer(self.directory)

    def teardown(self) -> None:
        self.writer.journal.close()
        shutil.rmtree(self.directory)

    @rule(name=names, at=st.floats(0, 1e9))
    def accept(self, name: str, at: float) -> None:
        record = accepted(name, at)
        self.writer.journal.add(WriteAccepted(name, record))
        self.jobs[name] = record

    @precondition(lambda self: self.jobs)
    @rule(data=st.data())
    def end(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.jobs)))
        record = ended(name)
        self.writer.journal.add(WriteEnded(name, record))
        self.jobs[name] = remembered(name, record)

    @rule(name=names)
    def forget(self, name: str) -> None:
        self.writer.journal.add(Forget(name))
        self.jobs.pop(name, None)

    @rule()
    def open_again(self) -> None:
        self.writer.journal.close()
        assert found(self.directory) == self.jobs
        self.writer = Writer(self.directory)

    @invariant()
    def is_locked(self) -> None:
        with pytest.raises(ConfigurationInvalid):
            JobJournal(self.directory)


JournalMachine.TestCase.settings = fuzzed(25, derandomize=False, stateful_step_count=20)
TestJournalMachine = JournalMachine.TestCase
