"""A damaged journal: every intact record is recovered, and missing ones are counted."""

from __future__ import annotations

import contextlib
import queue
import random
import re
import shutil
import sqlite3
import sys
import time
from datetime import datetime
from pathlib import Path

import pytest

from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.router.journal.job_journal import JobJournal
from cactus_actors.router.journal.journal_reader import JournalReader
from cactus_actors.router.journal.record_encoding import decoded_accepted, encoded
from cactus_actors.router.journal.salvage import Salvage, log_damage
from cactus_actors.router.journal.sqlite_pages import Pages
from cactus_actors.router.state.journal_records import (
    AcceptedRecord,
    Forget,
    RecoveredEnd,
    StoredResult,
    WriteAccepted,
    WriteEnded,
)
from tests.support.router.journals import PATIENCE_S, Writer, accepted, ended, found, remembered

PAGE = 4096
FRAME = 24 + PAGE
NUM_JOBS = 120


def name_of(number: int) -> str:
    """Ids whose records are short, and some that overflow to a page or several."""
    return f"{number:03}-{'x' * (9_000 if number % 10 == 0 else 2_000 if number % 10 == 5 else 20)}"


def filled(directory: Path, num_jobs: int = NUM_JOBS) -> dict[str, AcceptedRecord]:
    """A journal of which each third job has ended, closed in order: all of it is in the file."""
    writer = Writer(directory)
    jobs = {name_of(number): accepted(name_of(number), 1e9 + number) for number in range(num_jobs)}
    for number, (name, record) in enumerate(jobs.items()):
        writer.journal.add(WriteAccepted(name, record))
        if number % 3 == 0:
            writer.journal.add(WriteEnded(name, ended(name)))
    writer.journal.close()
    return jobs


def cut_off(directory: Path, jobs: int, *, with_index: bool = False) -> tuple[Path, list[str]]:
    """A journal as `kill -9` leaves it: each job is a transaction, and all of them are in the log."""
    writer = Writer(directory / "killed")
    names = [f"{number:03}" for number in range(jobs)]
    for name in names:
        writer.journal.add(WriteAccepted(name, accepted(name, time.time() - 5)))
        writer.said.get(timeout=PATIENCE_S)
    copy = directory / "copy"
    copy.mkdir()
    for file in ("jobs.sqlite", "jobs.sqlite-wal", "jobs.sqlite-shm")[: 3 if with_index else 2]:
        shutil.copy(directory / "killed" / file, copy / file)
    writer.journal.close()
    return copy, names


def missing(text: str) -> int:
    """The number of missing jobs in the log message."""
    if "none is known to be missing" in text:
        return 0
    (number,) = re.findall(r"at least (\d+) are missing", text)
    return int(number)


def told_span(text: str) -> tuple[float, float]:
    """The Unix times in the log message between which the missing jobs were accepted."""
    ((since, until),) = re.findall(r"accepted between (\S+) and (\S+)$", text, re.MULTILINE)
    return datetime.fromisoformat(since).timestamp(), datetime.fromisoformat(until).timestamp()


@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_the_reported_time_range_covers_lost_pages(
    tmp_path: Path, share: float, caplog: pytest.LogCaptureFixture
) -> None:
    """The pages of the first, the middle or the last jobs are lost."""
    jobs = filled(tmp_path)
    path = tmp_path / "jobs.sqlite"
    content = bytearray(path.read_bytes())
    leaves = [start for start in range(PAGE, len(content), PAGE) if content[start] == 10]
    later = [f"{number:03}-".encode() for number in range(int(share * NUM_JOBS), NUM_JOBS)]
    leaf = next(at for name in later for at in leaves if name in content[at : at + PAGE])
    content[leaf : leaf + PAGE] = bytes(PAGE)
    path.write_bytes(content)
    salvaged = found(tmp_path)
    lost = [record.accepted_at for name, record in jobs.items() if name not in salvaged]
    assert len(lost) == missing(caplog.text) > 0
    since, until = told_span(caplog.text)
    assert since == 1e9
    assert until >= max(lost)


@pytest.mark.parametrize("share", [0.05, 0.5, 0.9])
def test_the_reported_time_range_covers_a_gap_in_the_log(
    tmp_path: Path, share: float, caplog: pytest.LogCaptureFixture
) -> None:
    """Each job was accepted five seconds before it was written; only the progress records after it survive."""
    copy, names = cut_off(tmp_path, 60)
    log = copy / "jobs.sqlite-wal"
    content = bytearray(log.read_bytes())
    written_at = {}
    num_frames = (len(content) - 32) // FRAME
    for frame in range(num_frames):
        start = 32 + frame * FRAME
        rows = [*Pages(b"", bytes(content[:32] + content[start : start + FRAME])).rows()]
        for row in rows:
            if len(row) == 4 and isinstance(row[1], bytes):
                written_at[row[0]] = decoded_accepted(row[1]).accepted_at
        if frame >= share * num_frames and not any(len(row) == 2 for row in rows):
            content[start : start + FRAME] = bytes(FRAME)
    log.write_bytes(content)
    salvaged = found(copy)
    lost = [written_at[name.encode()] for name in names if name not in salvaged]
    assert len(lost) == missing(caplog.text) > 0
    since, until = told_span(caplog.text)
    assert since <= min(lost) <= max(lost) <= until
    assert until - since < 60


def test_pages_are_read_as_by_sqlite(tmp_path: Path) -> None:
    jobs = filled(tmp_path)
    rows = {row for row in Pages((tmp_path / "jobs.sqlite").read_bytes(), b"").rows() if len(row) == 4}
    database = sqlite3.connect(tmp_path / "jobs.sqlite")
    stored = set(database.execute("SELECT CAST(job_id AS BLOB), accepted, ended, ended_at FROM jobs"))
    database.close()
    assert len(stored) == len(jobs)
    assert rows >= stored


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9, 0.999])
def test_a_truncated_file_is_recovered_up_to_its_end(
    tmp_path: Path, share: float, caplog: pytest.LogCaptureFixture
) -> None:
    jobs = filled(tmp_path)
    path = tmp_path / "jobs.sqlite"
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    salvaged = found(tmp_path)
    assert salvaged.keys() <= jobs.keys()
    assert len(salvaged) > share * 0.5 * len(jobs)
    num_left_out = caplog.text.count("is left out")  # SQLite read the row, and its checksum is wrong
    if len(salvaged) + num_left_out < len(jobs) and "is not known" not in caplog.text:
        assert missing(caplog.text) + num_left_out == len(jobs) - len(salvaged)
    asides = [*tmp_path.glob("jobs.sqlite.damaged-*")]
    if len(salvaged) + num_left_out < len(jobs):
        assert len(asides) == 1
    assert all(aside.stat().st_size > 0 for aside in asides)
    assert found(tmp_path) == salvaged  # the new file is intact


@pytest.mark.parametrize("seed", range(12))
def test_a_lost_page_loses_only_its_own_records(tmp_path: Path, seed: int, caplog: pytest.LogCaptureFixture) -> None:
    jobs = filled(tmp_path)
    path = tmp_path / "jobs.sqlite"
    content = bytearray(path.read_bytes())
    number = random.Random(seed).randrange(1, len(content) // PAGE)
    content[number * PAGE : (number + 1) * PAGE] = (b"\0" if seed % 2 else b"\xa5") * PAGE
    whole = {row[0] for row in Pages(bytes(content), b"").rows() if len(row) == 4 and row[1] is not None}
    path.write_bytes(content)
    salvaged = found(tmp_path)
    assert {name.encode() for name in salvaged} <= whole
    assert len(jobs) - len(salvaged) <= 40  # of a page
    for name, record in salvaged.items():
        if isinstance(record, AcceptedRecord):
            assert record == jobs[name]
    num_left_out = caplog.text.count("is left out")  # SQLite read the row, and its checksum is wrong
    if len(salvaged) + num_left_out < len(jobs) and "is not known" not in caplog.text:
        assert missing(caplog.text) + num_left_out == len(jobs) - len(salvaged)


def test_a_gap_in_the_log_loses_no_later_record(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    copy, names = cut_off(tmp_path, 60)
    log = copy / "jobs.sqlite-wal"
    content = bytearray(log.read_bytes())
    num_frames = (len(content) - 32) // FRAME
    for frame in range(num_frames // 2, num_frames // 2 + 2):
        start = 32 + frame * FRAME
        content[start : start + FRAME] = bytes(FRAME)
    log.write_bytes(content)
    salvaged = found(copy)
    # Later versions of the same page contain the rows of the hole: the last page lists all its jobs.
    assert names[-1] in salvaged
    assert len(names) - len(salvaged) == missing(caplog.text)
    assert len(salvaged) > 50
    assert "has a hole" in caplog.text


def test_jobs_lost_in_a_gap_are_counted_with_their_time(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Every frame of the middle third is lost except those of the progress records."""
    copy, names = cut_off(tmp_path, 90)
    log = copy / "jobs.sqlite-wal"
    content = bytearray(log.read_bytes())
    num_frames = (len(content) - 32) // FRAME
    for frame in range(num_frames // 3, num_frames):
        start = 32 + frame * FRAME
        if not any(len(row) == 2 for row in Pages(b"", bytes(content[:32] + content[start : start + FRAME])).rows()):
            content[start : start + FRAME] = bytes(FRAME)
    log.write_bytes(content)
    salvaged = found(copy)
    assert 20 < len(salvaged) < 60
    assert missing(caplog.text) == len(names) - len(salvaged)
    this_day = time.strftime("%Y-%m-%d", time.gmtime())
    assert re.search(rf"accepted between {this_day}T\S+ and {this_day}T", caplog.text)


@pytest.mark.parametrize(
    "jobs", [20, 80]
)  # 80 jobs are on several pages, and the last one is not that of the progress record
def test_a_truncated_log_has_no_gap(tmp_path: Path, caplog: pytest.LogCaptureFixture, jobs: int) -> None:
    """A power cut damages only the last transaction, which was never acknowledged."""
    copy, names = cut_off(tmp_path, jobs)
    log = (copy / "jobs.sqlite-wal").read_bytes()
    (tmp_path / "cut").mkdir()
    for cut in range(1, 3 * FRAME, 997):
        shutil.copy(copy / "jobs.sqlite", tmp_path / "cut" / "jobs.sqlite")
        (tmp_path / "cut" / "jobs.sqlite-wal").write_bytes(log[:-cut])
        assert log_damage(tmp_path / "cut" / "jobs.sqlite") is None
        assert len(found(tmp_path / "cut")) >= len(names) - 3
    assert "damaged" not in caplog.text


def damaged_at_its_end(content: bytes) -> bytes:
    """A log whose last frame has its full length, and wrong checksums of the page and of the progress record in it."""
    damaged = bytearray(content)
    damaged[-16] ^= 0xFF
    return bytes(damaged)


def test_a_damaged_last_frame_is_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    copy, names = cut_off(tmp_path, 20, with_index=True)
    before, log = time.time(), copy / "jobs.sqlite-wal"
    log.write_bytes(damaged_at_its_end(log.read_bytes()))
    assert found(copy).keys() == set(names)  # the damaged page is not that of the jobs
    assert "the last 2 pages of its log are damaged, after 19 jobs" in caplog.text
    ((since, until),) = re.findall(r"an unknown number is missing, written between (\S+) and (\S+)$", caplog.text, re.M)
    assert datetime.fromisoformat(since).timestamp() <= before <= datetime.fromisoformat(until).timestamp() + 1
    assert len([*copy.glob("jobs.sqlite.damaged-*-wal")]) == 1


def test_a_log_without_its_synced_frames_is_damaged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    copy, names = cut_off(tmp_path, 20, with_index=True)
    log = copy / "jobs.sqlite-wal"
    log.write_bytes(log.read_bytes()[: -3 * FRAME])
    assert found(copy).keys() == set(names[:19])  # the page of the jobs is intact in the cut transaction
    assert "the last 4 pages of its log are damaged, after 18 jobs" in caplog.text
    assert "an unknown number is missing, written between" in caplog.text


@pytest.mark.parametrize("with_index", [True, False])
def test_a_torn_last_frame_is_not_damage(tmp_path: Path, caplog: pytest.LogCaptureFixture, with_index: bool) -> None:
    """It has its full length, but its transaction was never on disk: SQLite's index does not count it."""
    copy, names = cut_off(tmp_path, 20, with_index=with_index)
    log = copy / "jobs.sqlite-wal"
    whole = log.read_bytes()
    log.write_bytes(whole + damaged_at_its_end(whole[-FRAME:]))
    assert log_damage(copy / "jobs.sqlite") is None
    assert found(copy).keys() == set(names)
    assert "damaged" not in caplog.text


def test_a_log_without_any_readable_frame_is_damaged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    copy, names = cut_off(tmp_path, 20)
    log = copy / "jobs.sqlite-wal"
    content = bytearray(log.read_bytes())
    content[32 + 24 + 50] ^= 1
    log.write_bytes(content)
    assert found(copy).keys() == set(names)
    assert "its log has a hole after 0 jobs" in caplog.text


def test_frames_are_read_up_to_the_same_end_as_by_sqlite(tmp_path: Path) -> None:
    copy, _ = cut_off(tmp_path, 80)
    log = (copy / "jobs.sqlite-wal").read_bytes()
    for end in (*range(32, len(log), 7 * FRAME + 100), len(log)):
        (copy / "jobs.sqlite-wal").write_bytes(log[:end])
        (copy / "jobs.sqlite-shm").unlink(missing_ok=True)
        with contextlib.closing(sqlite3.connect(f"{(copy / 'jobs.sqlite').as_uri()}?mode=ro", uri=True)) as database:
            database.execute("SELECT count(*) FROM sqlite_master").fetchone()
            index = (copy / "jobs.sqlite-shm").read_bytes()
        assert Pages(b"", log[:end]).num_readable == int.from_bytes(index[16:20], sys.byteorder)


def test_jobs_that_sqlite_loses_silently_are_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A page whose list of rows became shorter is a valid page to SQLite."""
    jobs = filled(tmp_path)
    path = tmp_path / "jobs.sqlite"
    content = bytearray(path.read_bytes())
    leaf = next(start for start in range(PAGE, len(content), PAGE) if content[start] == 10 and content[start + 4] > 4)
    content[leaf + 4] -= 2
    path.write_bytes(content)
    salvaged = found(tmp_path)
    assert len(jobs) - len(salvaged) == missing(caplog.text) == 2


def test_a_job_with_a_lost_end_runs_again() -> None:
    salvage = Salvage()
    salvage.add((b"a", encoded(accepted("a")), encoded(ended("a"))[:-1] + b"x", 5.0))
    assert list(salvage.rows()) == [("a", encoded(accepted("a")), None, None)]


def test_a_reused_job_id_does_not_get_the_end_of_the_first_job(tmp_path: Path) -> None:
    writer = Writer(tmp_path)
    now = time.time()
    writer.journal.add(WriteAccepted("a", accepted("a", now - 50)))
    writer.journal.add(WriteEnded("a", ended("a", now - 40)))
    writer.journal.add(Forget("a"))
    writer.accept("b")
    writer.journal.add(WriteAccepted("a", accepted("a", now - 30)))
    writer.accept("c")
    copy = tmp_path / "copy"
    copy.mkdir()
    shutil.copy(tmp_path / "jobs.sqlite-wal", copy / "jobs.sqlite-wal")
    writer.journal.close()
    (copy / "jobs.sqlite").write_bytes(b"not a database" * 1000)
    assert found(copy) == {"a": accepted("a", now - 30), "b": accepted("b"), "c": accepted("c")}


def test_random_bytes_raise_no_error() -> None:
    chooser = random.Random(0)
    header = b"SQLite format 3\0\x10\x00" + bytes(82)
    for size in (0, 1, 31, 32, 33, 100, 5000, 20_000):
        noise = chooser.randbytes(size)
        for database, log in ((noise, b""), (b"", noise), (noise, noise), (header + noise, noise)):
            list(Pages(database, log).rows())


def test_a_journal_without_room_for_its_index_is_still_read_and_written(tmp_path: Path) -> None:
    writer = Writer(tmp_path)
    writer.accept("a")
    writer.journal.add(WriteEnded("a", end := ended("a")))
    writer.journal.close()
    (tmp_path / "jobs.sqlite-shm").symlink_to("nowhere")  # SQLite does not follow it
    journal = JobJournal(tmp_path)
    assert [type(job) for job in journal.recover(600.0)] == [RecoveredEnd]
    assert journal.shared is not None
    said: queue.Queue[list[str]] = queue.Queue()
    journal.start(lambda job_ids: said.put(list(job_ids)), lambda *_: None)
    journal.add(WriteAccepted("b", accepted("b")))
    while "b" not in said.get(timeout=60):
        pass
    answers: queue.Queue[tuple[str, StoredResult | None]] = queue.Queue()
    reader = JournalReader(tmp_path, lambda *answer: answers.put(answer), journal.shared)
    reader.ask("a")
    assert answers.get(timeout=60) == ("a", remembered("a", end))
    reader.close()
    journal.close()
    (tmp_path / "jobs.sqlite-shm").unlink()
    assert set(found(tmp_path)) == {"a", "b"}


def test_a_damaged_journal_that_cannot_be_rewritten_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = filled(tmp_path)
    path = tmp_path / "jobs.sqlite"
    content = path.read_bytes()[: 60 * PAGE]
    path.write_bytes(content)

    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr("cactus_actors.router.journal.database.refill", full)
        with pytest.raises(ConfigurationInvalid, match=r"damaged .* cannot be written to a new file: .* full"):
            JobJournal(tmp_path).recover(600.0)
    assert not list(tmp_path.glob("*.damaged-*"))
    assert 0 < len(found(tmp_path)) < len(jobs)
