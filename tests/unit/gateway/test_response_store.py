"""The database of stored responses: what it keeps, for whom there is room, and what it does with damage."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from cactus_actors.api.openai import BodyRequest
from cactus_actors.api.responses import EndedAnswer, ResponseHead
from cactus_actors.client import AsyncClient
from cactus_actors.client.submit import EncodedSubmit
from cactus_actors.gateway.files.response_store import ResponseRecord, ResponseStore
from cactus_actors.gateway.files.stored_responses import StoredResponses, TenantResponses
from cactus_actors.protocol.errors import QuotaExceeded, ResourceNotFound, StorageFailure
from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.results import Result

JOB = EncodedSubmit("0" * 32, (b"header", b"payload"))
ANSWER = EndedAnswer(tool_markup="hermes", result=Result(text="Paris"))


def record_of(name: str, tenant: str = "a", at: float = 1.0, size: int = 1) -> ResponseRecord:
    item = {"id": "msg", "type": "message", "role": "user", "content": [{"type": "input_text", "text": "x" * size}]}
    return ResponseRecord(
        created_at=at,
        taken_at=at,
        tenant=tenant,
        head=ResponseHead(response_id=name, created_at=int(at), repeated={"model": "m", "background": False}),
        asked=BodyRequest(endpoint="chat", submits=[Submit(job_id="0" * 32)]),
        items=[item],
        digest=b"digest",
    )


def store_at(path: Path, max_responses: int = 3, max_bytes: int = 1 << 20) -> ResponseStore:
    return ResponseStore(path / "responses.sqlite", max_responses, max_bytes)


def ended(store: ResponseStore, name: str, tenant: str = "a", at: float = 1.0, size: int = 1) -> None:
    store.begin(record_of(name, tenant, at, size), JOB)
    store.end(name, ANSWER)


def test_a_response_is_what_it_was_for_the_next_process(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    begun = store.begin(record_of("one"), JOB)
    assert (begun.is_new, store.begin(record_of("one", at=9.0), JOB).is_new) == (True, False)
    [unended] = store.unended()
    assert (unended.record, unended.job, unended.answer) == (record_of("one"), JOB, None)
    store.end("one", ANSWER)
    store.end("one", EndedAnswer())  # a second end changes nothing
    store.close()
    kept = store_at(tmp_path).get("one")
    assert kept is not None
    assert (kept.record, kept.job, kept.answer) == (record_of("one"), None, ANSWER)


def test_the_files_are_private(tmp_path: Path) -> None:
    store = store_at(tmp_path / "new")
    store.begin(record_of("one"), JOB)
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "new").iterdir()} == {0o600}
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700


def test_the_oldest_ended_ones_of_a_tenant_give_way(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    ended(store, "other", tenant="b")
    store.begin(record_of("running"), JOB)
    for number in range(4):
        ended(store, f"{number}", at=10.0 + number)
    names = ["other", "running", "0", "1", "2", "3"]
    assert [name for name in names if store.get(name)] == ["other", "running", "2", "3"]


def test_a_tenant_has_room_for_so_many_bytes(tmp_path: Path) -> None:
    store = store_at(tmp_path, max_responses=100, max_bytes=8000)
    for number in range(6):
        ended(store, f"{number}", at=float(number), size=2000)
    kept = [number for number in range(6) if store.get(f"{number}")]
    assert kept == [*range(6 - len(kept), 6)]
    assert 2 <= len(kept) <= 3
    with pytest.raises(QuotaExceeded):
        store.begin(record_of("large", size=9000), JOB)
    again = store_at(tmp_path, max_responses=100, max_bytes=8000)
    ended(again, "next", at=9.0, size=2000)
    assert again.get("0") is None


def test_jobs_that_run_take_the_room(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    for number in range(3):
        store.begin(record_of(f"{number}"), JOB)
    with pytest.raises(QuotaExceeded):
        store.begin(record_of("one more"), JOB)
    assert store.delete("0")
    assert not store.delete("0")
    assert store.begin(record_of("one more"), JOB).is_new


def test_old_responses_are_forgotten_once_they_have_ended(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    ended(store, "old", at=5.0)
    store.begin(record_of("running", at=4.0), JOB)
    ended(store, "new", at=7.0)
    assert store.forget_before(6.0) == 1
    assert [name for name in ("old", "running", "new") if store.get(name)] == ["running", "new"]


async def test_a_response_is_not_read_after_its_retention_though_it_is_not_removed_yet(tmp_path: Path) -> None:
    client = AsyncClient("tcp://127.0.0.1:1", "tcp://127.0.0.1:1")  # nothing is asked of it
    responses = StoredResponses(store_at(tmp_path), client, max_age_s=100.0, unix_offset=0.0)
    now = responses.now()
    ended(responses.store, "new", at=now - 1)
    ended(responses.store, "old", at=now - 100)
    responses.store.begin(record_of("running", at=now - 100), JOB)
    assert [(await responses.get(name, "a")).record.name for name in ("new", "running")] == ["new", "running"]
    assert TenantResponses(responses, "a").conversation("new")
    for read in (lambda: responses.find("old", "a"), lambda: TenantResponses(responses, "a").conversation("old")):
        with pytest.raises(ResourceNotFound, match="no response 'old'"):
            read()
    assert (await responses.begin(record_of("new", at=now), JOB)).is_new is False
    assert (await responses.begin(record_of("old", at=now), JOB)).is_new is True
    await responses.close()


def test_a_damaged_database_is_put_aside(tmp_path: Path) -> None:
    (tmp_path / "responses.sqlite").write_bytes(b"this is no database, and never was one" * 100)
    store = store_at(tmp_path)
    ended(store, "one")
    assert store.get("one") is not None
    assert (tmp_path / "responses.sqlite.damaged").read_bytes().startswith(b"this is no database")


def test_a_response_in_another_form_is_not_there(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    ended(store, "one")
    with closing(sqlite3.connect(tmp_path / "responses.sqlite")) as database, database:
        database.execute("UPDATE responses SET record = ?", (b"\x81\xa3now",))
    assert store.get("one") is None


def test_a_closed_store_says_that_it_cannot_keep_anything(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    store.close()
    with pytest.raises(StorageFailure):
        store.begin(record_of("one"), JOB)
