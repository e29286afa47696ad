"""Keys, journals and records on disk: read, or refused without revealing their contents."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cactus_actors.batch.batch_errors import OutputRefused
from cactus_actors.batch.batch_journal import BatchJournal
from cactus_actors.batch.result_file import ResultFile
from cactus_actors.batch.second_pass.pass_journal import PassJournal
from cactus_actors.gateway.files.batch_record import BatchRecord
from cactus_actors.gateway.files.record_files import RecordFiles
from cactus_actors.gateway.http.api_keys import read_keys
from cactus_actors.handoff.audits.audit_files import AuditFiles, AuditState
from cactus_actors.handoff.batches.settled_batches import SettledBatches
from cactus_actors.handoff.cloud_key import load_cloud_key
from cactus_actors.keys.key_file import read_key_file
from cactus_actors.keys.key_pair import KeyPair
from cactus_actors.keys.key_store import KeyStore
from cactus_actors.keys.private_file import write_private
from cactus_actors.protocol.errors import CactusError, ConfigurationInvalid
from cactus_actors.router.journal.job_journal import JobJournal
from cactus_actors.router.state.journal_records import AcceptedRecord, EndedRecord
from tests.support.fuzzing.damage import changed_json, damaged
from tests.support.fuzzing.judging import answer, fuzzed
from tests.support.fuzzing.values import encodable, json_bytes, of_type
from tests.support.router.core_harness import job_id
from tests.support.router.journals import accepted, ended

SECRET, PUBLIC = "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6", "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"
KEY_FILE = {
    "name": "a",
    "role": "client",
    "tenant": "t",
    "public_key": PUBLIC,
    "secret_key": SECRET,
    "server_key": PUBLIC,
}
KNOWN = {
    "keys": [
        {
            "name": "a",
            "role": "client",
            "tenant": "t",
            "public_key": PUBLIC,
            "created": 1,
            "max_topics": 3,
            "weight": 3,
        }
    ]
}
CLOUD_KEY = "sk-0123456789abcdef"


def cloud_key(path: Path) -> object:
    return load_cloud_key({"CACTUS_HOME": str(path.parent)})


KEY_FILES: dict[str, tuple[Any, Callable[[Path], object]]] = {
    "some.client.key": (KEY_FILE, read_key_file),
    "server.key": (
        {"public_key": PUBLIC, "secret_key": SECRET},
        lambda path: KeyStore(path.parent).server_pair(),
    ),
    "known.json": (KNOWN, lambda path: KeyStore(path.parent).known()),
    "credentials.json": ({"cloud_key": CLOUD_KEY}, cloud_key),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("private")


def test_the_valid_files_are_read(folder: Path) -> None:
    assert KeyPair(SECRET).public == PUBLIC
    for name, (sound, read) in KEY_FILES.items():
        write_private(folder / name, json_bytes(sound))
        assert not isinstance(read(folder / name), CactusError)


@pytest.mark.parametrize("name", KEY_FILES)
@fuzzed(8)
@given(data=st.data())
def test_changed_key_files_are_read_or_refused_without_quoting_a_key(
    folder: Path, name: str, data: st.DataObject
) -> None:
    sound, read = KEY_FILES[name]
    write_private(folder / name, data.draw(changed_json(sound)))
    result = answer(read, folder / name)
    if isinstance(result, CactusError):
        assert isinstance(result, ConfigurationInvalid)
        assert SECRET[:12] not in result.message
        assert CLOUD_KEY[:12] not in result.message


@fuzzed(5)
@given(content=damaged(b"# keys\nkey-0123456789\nanother-key-0123 weight=3\n"))
def test_damaged_api_key_files_are_read_or_refused(folder: Path, content: bytes) -> None:
    path = folder / "api-keys"
    path.write_bytes(content)
    answer(read_keys, path, {}, names=[str(path), "API key"])


# the router's journal: records with valid checksums and any content


def with_sum(record: bytes) -> bytes:
    return record + zlib.crc32(record).to_bytes(4, "little")


SOUND_RECORDS = (msgspec.msgpack.encode(accepted(job_id(1))), msgspec.msgpack.encode(ended(job_id(1), 1e12)))
ODD_RECORDS = (
    of_type(AcceptedRecord).filter(encodable).map(msgspec.msgpack.encode),
    of_type(EndedRecord).filter(encodable).map(msgspec.msgpack.encode),
)
NESTED = b"\x97" + b"\x91" * 5000


def records(which: int) -> st.SearchStrategy[bytes]:
    odd = damaged(SOUND_RECORDS[which]) | ODD_RECORDS[which] | st.just(NESTED)
    return st.one_of(
        odd.map(with_sum), damaged(with_sum(SOUND_RECORDS[which])), st.just(with_sum(SOUND_RECORDS[which]))
    )


@pytest.fixture(scope="module")
def journal_folder(folder: Path) -> Path:
    JobJournal(folder / "journal").close()
    return folder / "journal"


@fuzzed(15)
@given(first=records(0), second=st.none() | records(1))
def test_arbitrary_journal_records_affect_no_other_job(
    journal_folder: Path, first: bytes, second: bytes | None
) -> None:
    database = sqlite3.connect(journal_folder / "jobs.sqlite")
    sound = with_sum(SOUND_RECORDS[0])
    with database:
        database.execute("PRAGMA synchronous = OFF")
        database.execute("DELETE FROM jobs")
        database.execute("INSERT INTO jobs VALUES (?, ?, ?, ?)", (job_id(1), first, second, 1e12))
        database.execute("INSERT INTO jobs VALUES (?, ?, NULL, NULL)", (job_id(2), sound))
    database.close()
    journal = JobJournal(journal_folder)
    try:
        found = answer(journal.recover, 600.0)
    finally:
        journal.close()
    assert isinstance(found, list)
    assert accepted(job_id(1)) in found


@fuzzed(5)
@given(data=st.data())
def test_damaged_journal_files_are_recovered(folder: Path, data: st.DataObject) -> None:
    directory = folder / "damaged"
    path = directory / "jobs.sqlite"
    for old in directory.glob("jobs.sqlite*"):
        old.unlink()
    journal = JobJournal(directory)
    journal.close()
    database = sqlite3.connect(path)
    rows = [(job_id(number), with_sum(SOUND_RECORDS[0]), None, None) for number in range(30)]
    with database:
        database.execute("PRAGMA synchronous = OFF")
        database.executemany("INSERT INTO jobs VALUES (?, ?, ?, ?)", rows)
    database.close()
    path.write_bytes(data.draw(damaged(path.read_bytes())))

    def recovered() -> int:
        journal = JobJournal(directory)
        try:
            return len(journal.recover(600.0))
        finally:
            journal.close()

    result = answer(recovered, names=[str(path)])
    assert isinstance(result, ConfigurationInvalid) or result <= 30


@fuzzed(8)
@given(data=st.data())
def test_changed_records_of_audits_are_read_or_refused(folder: Path, data: st.DataObject) -> None:
    tier = AuditState(subject=["a"], verdicts="r")
    state = AuditState(subject=["a"], verdicts="rwu-", signals=[0.5, 1.0], step=1, tiers={"sprout": tier})
    sound = msgspec.to_builtins(state)
    write_private(folder / "state.json", data.draw(changed_json(sound)))
    result = answer(AuditFiles(folder).read_state, names=[str(folder / "state.json")])
    assert isinstance(result, AuditState | ConfigurationInvalid)


@fuzzed(5)
@given(content=damaged(b'["batch-1","batch-2"]'))
def test_a_damaged_record_of_batches_counts_none_twice(folder: Path, content: bytes) -> None:
    path = folder / "cloud-batches.json"
    write_private(path, content)
    settled = SettledBatches(path)
    try:
        known = msgspec.json.decode(content, type=list[str])
    except (msgspec.DecodeError, UnicodeDecodeError):
        assert settled.has("batch-3")
    else:
        assert [settled.has(name) for name in (*known, "another")] == [*(True for _ in known), "another" in known]


# other files of a run


@fuzzed(8)
@given(data=st.data())
def test_changed_journals_of_a_second_pass_are_read_or_refused(folder: Path, data: st.DataObject) -> None:
    path = folder / "run.second-pass"
    part = {"mark": "m", "created": 1.5, "custom_ids": ["a", "b"], "batch_id": "b", "is_done": True}
    path.write_bytes(b'{"run_id":"r"}\n' + data.draw(changed_json(part)) + b"\n")

    def read() -> PassJournal:
        journal = PassJournal(path, "r")
        journal.close()
        return journal

    assert isinstance(answer(read, names=[str(path)]), PassJournal | OutputRefused)


@fuzzed(8)
@given(data=st.data())
def test_changed_batch_journals_are_read_or_refused(folder: Path, data: st.DataObject) -> None:
    path = folder / "run.journal"
    run = {
        "version": 2,
        "run_id": "r",
        "created": 1,
        "input_sha256": "00",
        "num_lines": 3,
        "parameters": {"a": 1},
    }
    path.write_bytes(data.draw(changed_json(run)) + data.draw(st.sampled_from([b"\n", b'\n{"complete":true}\n', b""])))
    journal = BatchJournal(path)
    try:
        result = answer(journal.read, names=[str(path)])
    finally:
        journal.close()
    assert isinstance(result, tuple | OutputRefused)


@fuzzed(8)
@given(content=damaged(b'{"custom_id":"a","x":[1]}\n{"custom_id":"b"}\n'))
def test_damaged_partial_results_keep_only_whole_lines(folder: Path, content: bytes) -> None:
    path = folder / "results.partial"
    path.write_bytes(content)
    file = ResultFile(path)
    file.close()
    assert set(path.read_bytes().split(b"\n")) <= {*content.split(b"\n"), b""}


@fuzzed(8)
@given(data=st.data())
def test_changed_batch_records_are_read_or_skipped(folder: Path, data: st.DataObject) -> None:
    directory = folder / "records"
    directory.mkdir(exist_ok=True)
    record = {
        "created_at": 1.5,
        "batch_id": "batch_1",
        "endpoint": "/v1/completions",
        "input_file_id": "file",
        "status": "completed",
        "times": {"completed": 3},
        "faults": [{"code": "c", "message": "m"}],
        "metadata": {"a": "b"},
    }
    (directory / "a.json").write_bytes(data.draw(changed_json(record)))
    (directory / "b.json").write_bytes(json_bytes(record))
    found = dict(RecordFiles(directory, BatchRecord).items())
    assert "b" in found
    for one in found.values():
        one.body()
