"""The journal's table of pictures: each content once, for as long as a job refers to it."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cactus_actors.protocol.errors import StorageFailure
from cactus_actors.router.journal.job_journal import JobJournal
from cactus_actors.router.state.encoded_picture import EncodedPicture
from cactus_actors.router.state.journal_records import (
    AcceptedRecord,
    ForgetPictures,
    RecoveredEnd,
    WriteAccepted,
    WriteEnded,
)
from tests.support.router.journals import PATIENCE_S, Writer, accepted, ended

SMALL, LARGE = EncodedPicture.of(b"a small one"), EncodedPicture.of(bytes(range(256)) * 4000)


def write(writer: Writer, name: str, *pictures: EncodedPicture) -> tuple[list[str], str]:
    record: Any = msgspec.structs.replace(accepted(name), pictures=[one.reference for one in pictures])
    writer.journal.add(WriteAccepted(name, record, pictures))
    return writer.said.get(timeout=PATIENCE_S)


def stored(directory: Path) -> dict[bytes, bytes]:
    with closing(sqlite3.connect(directory / "jobs.sqlite")) as database:
        return dict(database.execute("SELECT digest, content FROM pictures"))


def recovered(directory: Path) -> dict[str, Sequence[bytes]]:
    """The jobs, with the digests of their pictures."""
    with closing(JobJournal(directory)) as journal:
        jobs = journal.recover(600.0)
    return {
        job.submit.job_id if isinstance(job, AcceptedRecord) else job.job_id: [one.digest for one in job.pictures]
        for job in jobs
    }


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A journal of two jobs about one picture, of which one has ended, and of another that is old."""
    writer = Writer(tmp_path)
    assert write(writer, "runs", SMALL, LARGE) == (["runs"], "")
    write(writer, "over", LARGE)
    writer.journal.add(WriteEnded("over", ended("over")))
    write(writer, "old", EncodedPicture.of(b"of the old one"))
    writer.journal.add(WriteEnded("old", ended("old", at=time.time() - 700)))
    writer.journal.close()
    assert len(stored(tmp_path)) == 3
    return tmp_path


def test_a_picture_is_stored_once_and_deleted_at_the_start_if_no_job_refers_to_it(directory: Path) -> None:
    assert recovered(directory) == {"runs": [SMALL.digest, LARGE.digest], "over": [LARGE.digest]}
    assert stored(directory) == {one.digest: one.content for one in (SMALL, LARGE)}


def test_pictures_are_read_while_the_journal_is_written(directory: Path) -> None:
    writer = Writer(directory)
    assert writer.journal.pictures([LARGE.digest, SMALL.digest]) == [LARGE.content, SMALL.content]
    writer.journal.add(ForgetPictures((LARGE.digest,)))
    write(writer, "next")
    assert writer.journal.pictures([SMALL.digest]) == [SMALL.content]
    with pytest.raises(StorageFailure, match="missing"):
        writer.journal.pictures([LARGE.digest])
    writer.journal.close()


def test_ended_jobs_may_lack_pictures_that_made_room_for_others(directory: Path) -> None:
    writer = Writer(directory)
    writer.journal.add(ForgetPictures((LARGE.digest, SMALL.digest)))
    writer.journal.close()
    assert recovered(directory) == {"runs": [SMALL.digest, LARGE.digest], "over": []}


def test_a_damaged_picture_is_not_read(directory: Path) -> None:
    with closing(sqlite3.connect(directory / "jobs.sqlite")) as database, database:
        database.execute("UPDATE pictures SET content = ? WHERE digest = ?", (LARGE.content[:-1] + b"x", LARGE.digest))
    with closing(JobJournal(directory)) as journal, pytest.raises(StorageFailure, match="damaged"):
        journal.pictures([LARGE.digest])


def test_a_journal_of_an_earlier_version_gets_the_table(directory: Path) -> None:
    with closing(sqlite3.connect(directory / "jobs.sqlite")) as database, database:
        database.execute("DROP TABLE pictures")
    assert recovered(directory)["over"] == []
    assert stored(directory) == {}


def test_pictures_of_a_damaged_file_move_to_the_new_one(directory: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = directory / "jobs.sqlite"
    content = bytearray(path.read_bytes())
    content[24:28] = b"\xff" * 4  # of the header, which SQLite refuses together with the next
    content[18:20] = b"\x09\x09"
    path.write_bytes(content)
    assert recovered(directory) == {"runs": [SMALL.digest, LARGE.digest], "over": [LARGE.digest]}
    assert "salvaged" in caplog.text
    assert stored(directory) == {one.digest: one.content for one in (SMALL, LARGE)}


def test_on_a_full_disk_no_picture_is_written_and_none_is_lost(directory: Path) -> None:
    writer = Writer(directory)
    database = writer.database
    (num_pages,) = database.execute("PRAGMA page_count").fetchone()
    database.execute(f"PRAGMA max_page_count = {num_pages}")
    other = EncodedPicture.of(LARGE.content + b"more")
    names, reason = write(writer, "new", other)
    assert (names, "full" in reason) == (["new"], True)
    database.execute("PRAGMA max_page_count = 1000000")
    assert write(writer, "newer", LARGE) == (["newer"], "")
    writer.journal.close()
    assert other.digest not in stored(directory)
    assert recovered(directory)["newer"] == [LARGE.digest]


def test_recovered_ends_know_their_pictures(directory: Path) -> None:
    with closing(JobJournal(directory)) as journal:
        [over] = [job for job in journal.recover(600.0) if isinstance(job, RecoveredEnd)]
    assert over.pictures == (LARGE.reference,)
