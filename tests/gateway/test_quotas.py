"""Quotas of one API key: the number of files, bytes and batches, and their lifetime."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from cactus_actors.gateway.files.batch_record import BatchRecord
from cactus_actors.gateway.files.file_store import FileStore
from cactus_actors.gateway.files.quota import FileQuota
from cactus_actors.gateway.http.api_keys import digest_of
from cactus_actors.protocol.errors import QuotaExceeded
from tests.support.router.scripted_router import until
from tests.support.services.fake_worker_service import FakeWorkerService, fake_worker_service

ANN, BOB = "ann-0123456789abcdef", "bob-0123456789abcdef"
MAX_FILES, MAX_BYTES = 3, 100_000
LINE = b'{"custom_id": "a", "method": "POST", "url": "/v1/completions", "body": {"prompt": "a"}}'


@pytest.fixture
def bounded(tmp_path: Path) -> Iterator[FakeWorkerService]:
    gateway = {
        "key_digests": [digest_of(ANN), digest_of(BOB)],
        "max_files": MAX_FILES,
        "max_stored_bytes": MAX_BYTES,
    }
    with fake_worker_service(tmp_path, gateway=gateway) as service:
        yield service


def of(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def upload(http: httpx.Client, content: bytes, key: str = ANN) -> httpx.Response:
    form = {"files": {"file": ("in.jsonl", content)}, "data": {"purpose": "batch"}}
    return http.post("/v1/files", **form, headers=of(key))  # type: ignore[arg-type]


def create(http: httpx.Client, file_id: str) -> httpx.Response:
    batch = {"input_file_id": file_id, "endpoint": "/v1/completions", "completion_window": "24h"}
    return http.post("/v1/batches", json=batch, headers=of(ANN))


def status_of(http: httpx.Client, batch_id: str) -> str:
    return str(http.get(f"/v1/batches/{batch_id}", headers=of(ANN)).json().get("status"))


def refused(response: httpx.Response) -> bool:
    return response.status_code == 403 and response.json()["error"]["type"] == "quota_exceeded_error"


def num_kept_bytes(service: FakeWorkerService) -> int:
    files = Path(service.settings.state_dir) / "http" / "files"
    return sum(path.stat().st_size for path in files.glob("*.content"))


def test_the_number_of_files_is_limited(bounded: FakeWorkerService) -> None:
    with bounded.http() as http:
        ids = [upload(http, b"x").json()["id"] for _ in range(MAX_FILES)]
        assert refused(upload(http, b"x"))
        assert upload(http, b"x", BOB).status_code == 200
        assert http.delete(f"/v1/files/{ids[0]}", headers=of(ANN)).status_code == 200
        assert upload(http, b"x").status_code == 200


def test_the_bytes_of_all_files_are_limited(bounded: FakeWorkerService) -> None:
    with bounded.http() as http:
        assert upload(http, b"x" * 60_000).status_code == 200
        assert refused(upload(http, b"x" * 60_000))
        assert num_kept_bytes(bounded) == 60_000
        assert upload(http, b"x" * 40_000).status_code == 200
        assert upload(http, b"x" * 60_000, BOB).status_code == 200


def test_simultaneous_uploads_share_the_limit(bounded: FakeWorkerService) -> None:
    """Five uploads of 40,000 bytes run at the same time; at most two fit."""
    begun = threading.Barrier(5)
    answers: list[httpx.Response] = []

    def slowly() -> Iterator[bytes]:
        yield b'--b\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
        yield b'--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n'
        begun.wait(60)
        yield b"x" * 40_000
        yield b"\r\n--b--\r\n"

    def send() -> None:
        with bounded.http() as http:
            headers = of(ANN) | {"content-type": "multipart/form-data; boundary=b"}
            answers.append(http.post("/v1/files", content=slowly(), headers=headers))

    senders = [threading.Thread(target=send) for _ in range(5)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join(60)
    taken = [answer for answer in answers if answer.status_code == 200]
    assert len(answers) == 5
    assert len(taken) <= 2
    assert all(refused(answer) for answer in answers if answer not in taken)
    assert num_kept_bytes(bounded) == 40_000 * len(taken)


def test_results_of_batches_count_towards_the_limit(bounded: FakeWorkerService) -> None:
    with bounded.http() as http:
        file_id = upload(http, LINE + b" " * (MAX_BYTES - len(LINE) - 1) + b"\n").json()["id"]
        batch_id = create(http, file_id).json()["id"]
        until(lambda: status_of(http, batch_id) == "completed")
        output = http.get(f"/v1/batches/{batch_id}", headers=of(ANN)).json()["output_file_id"]
        assert http.get(f"/v1/files/{output}/content", headers=of(ANN)).status_code == 200
        assert refused(create(http, file_id))  # the results of another one would not fit


def test_beyond_the_limit_the_oldest_ended_batch_is_forgotten(bounded: FakeWorkerService) -> None:
    bounded.worker.is_held = True
    with bounded.http() as http:
        file_id = upload(http, LINE + b"\n").json()["id"]
        ids = [create(http, file_id).json()["id"] for _ in range(MAX_FILES)]
        assert refused(create(http, file_id))
        http.post(f"/v1/batches/{ids[0]}/cancel", headers=of(ANN))
        until(lambda: status_of(http, ids[0]) == "cancelled")
        assert create(http, file_id).status_code == 200
        assert [status_of(http, batch_id) == "None" for batch_id in ids] == [True, False, False]


async def test_files_expire_unless_a_batch_reads_them(tmp_path: Path) -> None:
    async def chunks() -> Any:
        yield b"content"

    now = 1000.0
    files = FileStore(tmp_path, FileQuota(max_age_s=100.0), lambda: now)
    old, read = [files.keep(await files.receive(chunks(), ""), "name", "batch", "") for _ in range(2)]
    now = 1099.0
    young = files.keep(await files.receive(chunks(), ""), "name", "batch", "")
    files.forget_old(lambda file_id: file_id == read.file_id)
    assert {file.file_id for file in files.all_of("")} == {old.file_id, read.file_id, young.file_id}
    now = 1100.0
    files.forget_old(lambda file_id: file_id == read.file_id)
    assert {file.file_id for file in files.all_of("")} == {read.file_id, young.file_id}
    assert not files.path(old.file_id).exists()
    assert files.path(read.file_id).exists()


async def test_the_counted_bytes_of_each_key_are_the_sizes_of_its_files(tmp_path: Path) -> None:
    async def chunks(*sizes: int) -> Any:
        for size in sizes:
            yield bytes(size)

    def check(files: FileStore) -> None:
        for tenant in ("ann", "bob"):
            assert files.num_bytes(tenant) == sum(file.num_bytes for file in files.all_of(tenant))

    now = 0.0
    files = FileStore(tmp_path / "files", FileQuota(max_bytes=100, max_age_s=10.0), lambda: now)
    first = files.keep(await files.receive(chunks(30, 40), "ann"), "name", "batch", "ann")
    with pytest.raises(QuotaExceeded):
        await files.receive(chunks(30, 1), "ann")
    files.keep(await files.receive(chunks(100), "bob"), "name", "batch", "bob")
    assert (files.num_bytes("ann"), files.num_bytes("bob")) == (70, 100)
    for size in (5, 7):  # a repetition with the same id
        (tmp_path / "result").write_bytes(bytes(size))
        files.adopt(tmp_path / "result", "file-adopted", "name", "batch", "ann")
    assert files.num_bytes("ann") == 77
    check(files)
    check(FileStore(tmp_path / "files"))
    files.delete(first.file_id, "ann")
    assert files.num_bytes("ann") == 7
    now = 10.0
    files.forget_old(lambda file_id: file_id == "file-adopted")
    assert (files.num_bytes("ann"), files.num_bytes("bob")) == (7, 0)
    check(files)


def test_a_record_of_an_older_version_expires_by_its_creation_time() -> None:
    record = BatchRecord(created_at=5.0, batch_id="batch_1", endpoint="/v1/completions", input_file_id="file-1")
    assert FileQuota(max_age_s=10.0).expired([("batch_1", record)], 14.9) == []
    assert FileQuota(max_age_s=10.0).expired([("batch_1", record)], 15.0) == ["batch_1"]
