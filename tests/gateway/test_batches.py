"""Batches over HTTP: the life cycle of OpenAI's batches, on top of prompt files."""

from __future__ import annotations

import errno
import json
import os
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from cactus_actors.gateway.files.batch_check import checked
from cactus_actors.gateway.files.batch_queue import BatchQueue
from cactus_actors.gateway.files.file_store import FileStore
from cactus_actors.gateway.http.timeouts import GatewayTimeouts
from tests.support.http.batches import COMPLETIONS, create, ended, line, lines_of, upload
from tests.support.router.scripted_router import until
from tests.support.services.fake_worker_service import STORY, fake_worker_service

TEXT = "".join(STORY)
TWO_DAYS_S = 2 * 86_400.0
CHAT = "/v1/chat/completions"


@pytest.mark.parametrize(
    ("metadata", "param"),
    [
        ({f"{number}": "" for number in range(17)}, "metadata"),
        ({"k" * 65: "v"}, "metadata"),
        ({"k": "v" * 513}, "metadata.k"),
        ({"k": 1}, "metadata[...]"),
        ({"k": None}, "metadata[...]"),
        (["k"], "metadata"),
    ],
)
def test_the_metadata_of_a_batch_is_bounded(http: httpx.Client, metadata: Any, param: str) -> None:
    before = http.get("/v1/batches").json()["data"]
    batch = {"input_file_id": upload(http, line("a")).json()["id"], "endpoint": COMPLETIONS}
    refused = http.post("/v1/batches", json=batch | {"metadata": metadata})
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, param)
    assert [one["id"] for one in http.get("/v1/batches").json()["data"]] == [one["id"] for one in before]


def test_metadata_at_its_bounds_is_kept(http: httpx.Client) -> None:
    metadata = {f"{number:02}" + "é" * 62: "é" * 512 for number in range(16)}
    batch = {"input_file_id": upload(http, line("a")).json()["id"], "endpoint": COMPLETIONS}
    created = http.post("/v1/batches", json=batch | {"metadata": metadata})
    assert (created.status_code, created.json()["metadata"]) == (200, metadata)
    ended(http, created.json()["id"])


def test_a_batch_is_run_to_its_end(http: httpx.Client) -> None:
    content = line("good") + line("bad", prompt="a", temperature=9) + line("more", prompt="a", n=2)
    batch = ended(http, create(http, content))
    assert batch["status"] == "completed"
    assert batch["request_counts"] == {"total": 3, "completed": 2, "failed": 1}
    for moment in ("created_at", "in_progress_at", "finalizing_at", "completed_at"):
        assert batch[moment] >= batch["created_at"]
    assert batch["expires_at"] == batch["created_at"] + 24 * 3600
    good = lines_of(http, batch["output_file_id"])
    assert good.keys() == {"good", "more"}
    response = good["good"]["response"]
    assert (response["status_code"], response["body"]["choices"][0]["text"]) == (200, TEXT)
    assert len(good["more"]["response"]["body"]["choices"]) == 2
    asked = {"prompt": "a", "max_tokens": 1}
    fingerprint = http.post("/v1/completions", json=asked).json()["system_fingerprint"]
    told = {one["response"]["body"]["system_fingerprint"] for one in good.values()}
    assert fingerprint
    assert told == {fingerprint}
    [bad] = lines_of(http, batch["error_file_id"]).values()
    assert bad["response"]["status_code"] == 400
    assert bad["error"]["param"] == "temperature"
    listed = http.get("/v1/batches", params={"limit": 1}).json()
    assert listed["data"] == [batch]


def test_a_batch_of_chats_without_a_failure_has_no_error_file(http: httpx.Client) -> None:
    content = line("a", CHAT, messages=[{"role": "user", "content": "hi"}])
    batch = ended(http, create(http, content, CHAT))
    assert (batch["status"], batch["error_file_id"]) == ("completed", None)
    [one] = lines_of(http, batch["output_file_id"]).values()
    assert one["response"]["body"]["choices"][0]["message"]["content"] == TEXT


@pytest.mark.parametrize(
    ("content", "code", "where"),
    [
        (b"", "empty_file", None),
        (b"\n\n", "empty_file", None),
        (b"\x1f\x8b\x08", "invalid_file", None),
        (line("a") + b"{not json\n", "invalid_json_line", 2),
        (line("a") + line("a"), "duplicate_custom_id", 2),
        (line("a", CHAT, messages=[]), "invalid_url", 1),
        (b'{"custom_id":"a","method":"GET","url":"/v1/completions","body":{}}', "invalid_method", 1),
        (b'{"method":"POST","url":"/v1/completions","body":{}}', "invalid_file", None),
        (b'{"custom_id":"a","method":"POST","url":"/v1/completions","body":7}', "invalid_request", 1),
        (b'"text"', "invalid_request", 1),
    ],
)
def test_a_file_that_is_not_a_batch_fails_it_with_the_line(
    http: httpx.Client, content: bytes, code: str, where: int | None
) -> None:
    batch = ended(http, create(http, content))
    assert (batch["status"], batch["output_file_id"]) == ("failed", None)
    [fault] = batch["errors"]["data"]
    assert (fault["code"], fault["line"]) == (code, where)
    assert "/" + "state" not in fault["message"]


def test_lines_and_reported_errors_have_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(b"".join(line(str(number)) for number in range(50_001)))
    assert [fault.code for fault in checked(path, COMPLETIONS, takes_salts=True).faults] == ["too_many_requests"]
    path.write_bytes(b"x\n" * 1000)
    assert len(checked(path, COMPLETIONS, takes_salts=True).faults) == 100
    path.write_bytes(line("a", prompt="a", cache_salt="b"))
    assert checked(path, COMPLETIONS, takes_salts=True) == (1, [])
    assert [fault.param for fault in checked(path, COMPLETIONS, takes_salts=False).faults] == ["cache_salt"]


@pytest.mark.parametrize(
    "batch",
    [
        {"endpoint": COMPLETIONS},
        {"input_file_id": "file-0", "endpoint": "/v1/embeddings"},
        {"input_file_id": 7, "endpoint": COMPLETIONS},
        {"input_file_id": "file-0", "endpoint": COMPLETIONS, "completion_window": "1h"},
        {"input_file_id": "file-0", "endpoint": COMPLETIONS, "metadata": {"a": 1}},
    ],
)
def test_an_invalid_batch_is_refused(http: httpx.Client, batch: dict[str, Any]) -> None:
    assert http.post("/v1/batches", json=batch).status_code == 400


def test_a_batch_without_its_file_is_refused(http: httpx.Client) -> None:
    batch = {"input_file_id": "file-0", "endpoint": COMPLETIONS}
    refused = http.post("/v1/batches", json=batch)
    assert (refused.status_code, refused.json()["error"]["param"]) == (404, "input_file_id")
    assert refused.json()["error"]["message"] == "no file 'file-0'"
    assert http.get("/v1/batches/batch_0").status_code == 404
    assert http.post("/v1/batches/batch_0/cancel").status_code == 404


def test_a_batch_continues_after_a_restart(tmp_path: Path) -> None:
    content = b"".join(line(str(number)) for number in range(60))
    with fake_worker_service(tmp_path, step_s=0.02, gateway={"batch_in_flight": 4}) as service:
        with service.http() as http:
            batch_id = create(http, content)
            until(lambda: len(service.worker.dispatches) > 10)
            input_id = http.get(f"/v1/batches/{batch_id}").json()["input_file_id"]
            assert http.delete(f"/v1/files/{input_id}").status_code == 400
        service.stop_gateway()
        service.start_gateway()
        with service.http() as http:
            batch = ended(http, batch_id)
            assert batch["status"] == "completed"
            assert batch["request_counts"] == {"total": 60, "completed": 60, "failed": 0}
            done = lines_of(http, batch["output_file_id"])
            assert done.keys() == {str(number) for number in range(60)}
            assert http.delete(f"/v1/files/{input_id}").status_code == 200


def test_a_cancelled_batch_keeps_its_completed_lines(tmp_path: Path) -> None:
    content = b"".join(line(str(number)) for number in range(200))
    with (
        fake_worker_service(tmp_path, step_s=0.02, gateway={"batch_in_flight": 2}) as service,
        service.http() as http,
    ):
        batch_id = create(http, content)
        until(lambda: len(service.worker.dispatches) > 10)
        waiting = create(http, line("a"))
        assert http.post(f"/v1/batches/{batch_id}/cancel").json()["status"] == "cancelling"
        batch = ended(http, batch_id)
        assert (batch["status"], batch["request_counts"]["total"]) == ("cancelled", 200)
        done = lines_of(http, batch["output_file_id"])
        assert 0 < len(done) < 200
        assert http.post(f"/v1/batches/{batch_id}/cancel").json() == batch
        assert ended(http, waiting)["status"] == "completed"


def test_an_expired_batch_lists_the_lines_that_never_ran(tmp_path: Path) -> None:
    timeouts = GatewayTimeouts(batch_window_s=4)
    content = b"".join(line(str(number)) for number in range(300))
    with (
        fake_worker_service(tmp_path, timeouts=timeouts, step_s=0.05, gateway={"batch_in_flight": 2}) as service,
        service.http() as http,
    ):
        batch_id, behind_it = create(http, content), create(http, line("a") + line("b"))
        batch = ended(http, batch_id)
        assert batch["status"] == "expired"
        done = lines_of(http, batch["output_file_id"])
        never = lines_of(http, batch["error_file_id"])
        assert len(done) + len(never) == 300
        assert {one["error"]["code"] for one in never.values()} == {"batch_expired"}
        assert batch["request_counts"] == {"total": 300, "completed": len(done), "failed": len(never)}
        batch = ended(http, behind_it)
        assert batch["status"] == "expired"
        assert batch["request_counts"] == {"total": 2, "completed": 0, "failed": 2}


def set_clock(monkeypatch: pytest.MonkeyPatch, by: float) -> None:
    seconds, nanoseconds = time.time, time.time_ns
    monkeypatch.setattr(time, "time", lambda: seconds() + by)
    monkeypatch.setattr(time, "time_ns", lambda: nanoseconds() + int(by * 1e9))


@pytest.mark.parametrize("by", [TWO_DAYS_S, -TWO_DAYS_S])
def test_setting_the_clock_ends_no_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: float) -> None:
    content = b"".join(line(str(number)) for number in range(60))
    with fake_worker_service(tmp_path, step_s=0.02, gateway={"batch_in_flight": 4}) as service:
        with service.http() as http:
            batch_id, behind_it = create(http, content), create(http, line("a"))
            until(lambda: len(service.worker.dispatches) > 10)
            set_clock(monkeypatch, by)
            taken_later = create(http, line("a"))
        service.stop_gateway()
        service.start_gateway()
        with service.http() as http:
            last = ended(http, taken_later)
            batches = [ended(http, name) for name in (batch_id, behind_it)]
            assert [batch["status"] for batch in (*batches, last)] == ["completed"] * 3
            assert batches[0]["request_counts"] == {"total": 60, "completed": 60, "failed": 0}
            # by the wall clock, in the order of their arrival
            assert abs(last["created_at"] - batches[0]["created_at"] - by) < 60
            assert batches[0]["completed_at"] <= batches[1]["completed_at"] <= last["completed_at"]


@pytest.mark.parametrize("by", [TWO_DAYS_S, -TWO_DAYS_S])
def test_the_lifetime_of_a_batch_does_not_depend_on_the_wall_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: float
) -> None:
    window_s = 4
    timeouts = GatewayTimeouts(batch_window_s=window_s)
    content = b"".join(line(str(number)) for number in range(300))
    with fake_worker_service(tmp_path, timeouts=timeouts, step_s=0.05, gateway={"batch_in_flight": 2}) as service:
        with service.http() as http:
            batch_id = create(http, content)
            taken_at = time.monotonic()
            until(lambda: len(service.worker.dispatches) > 2)
        set_clock(monkeypatch, by)
        service.stop_gateway()
        service.start_gateway()
        with service.http() as http:
            batch = ended(http, batch_id)
        assert batch["status"] == "expired"
        assert window_s - 0.1 < time.monotonic() - taken_at < window_s + 60


@pytest.mark.parametrize("end", ["expired", "cancelled", "failed"])
def test_counts_agree_with_the_lines_after_any_end_of_a_batch(tmp_path: Path, end: str) -> None:
    with fake_worker_service(tmp_path, step_s=0.05, gateway={"batch_in_flight": 4}) as service:
        with service.http() as http:
            batch_id = create(http, b"".join(line(str(number)) for number in range(60)))
            until(lambda: len(service.worker.dispatches) > 20)
        service.stop_gateway()
        batches = tmp_path / "http" / "batches"
        with (batches / batch_id / "output.jsonl.partial").open("ab") as partial:
            partial.write(b'{"id": "cut off by a k')
        record_path = batches / f"{batch_id}.json"
        record = json.loads(record_path.read_text())
        record["num_completed"] = 1  # a killed gateway has not saved the results of its last lines
        match end:
            case "expired":
                record["taken_at"] -= 86_400
            case "cancelled":
                record["status"] = "cancelling"
            case "failed":
                source = tmp_path / "http" / "files" / f"{record['input_file_id']}.content"
                source.write_bytes(source.read_bytes() + line("more"))
        record_path.write_text(json.dumps(record))
        service.start_gateway()
        with service.http() as http:
            batch = ended(http, batch_id)
            assert batch["status"] == end
            counts = batch["request_counts"]
            if end == "failed":
                results = batches / batch_id / "output.jsonl.partial"
                assert counts["completed"] == len(results.read_bytes().splitlines())
            else:
                assert counts["completed"] == len(lines_of(http, batch["output_file_id"]))
            never = lines_of(http, batch["error_file_id"]) if batch["error_file_id"] else {}
            assert (counts["total"], counts["failed"]) == (60, len(never))
            assert 4 < counts["completed"] < 60
            assert end != "expired" or counts["completed"] + counts["failed"] == 60


@pytest.mark.parametrize("num_renamed", range(9))
def test_a_gateway_killed_at_any_change_of_a_file_loses_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, num_renamed: int
) -> None:
    renamed: list[Path] = []
    replace = os.replace

    def fail_later(source: Path, target: Path) -> None:
        renamed.append(Path(target))
        if len(renamed) > num_renamed:
            raise OSError(errno.EIO, "Input/output error")
        replace(source, target)

    with fake_worker_service(tmp_path) as service:
        with service.http() as http:
            file_id = upload(http, line("a")).json()["id"]
            with monkeypatch.context() as patch:
                patch.setattr(os, "replace", fail_later)
                batch = {"input_file_id": file_id, "endpoint": COMPLETIONS, "completion_window": "24h"}
                asked = http.post("/v1/batches", json=batch)
                until(lambda: len(renamed) > num_renamed)
                service.stop_gateway()
        service.start_gateway()
        with service.http() as http:
            if asked.status_code == 507:
                assert num_renamed == 0
                return
            batch = ended(http, asked.json()["id"])
            assert batch["status"] == "completed"
            assert lines_of(http, batch["output_file_id"]).keys() == {"a"}
            files = http.get("/v1/files").json()["data"]
            assert {file["id"] for file in files} == {file_id, batch["output_file_id"]}
    contents = {path.stem for path in (tmp_path / "http" / "files").glob("*.content")}
    assert contents == {file_id, batch["output_file_id"]}


async def test_damaged_records_are_skipped(tmp_path: Path) -> None:
    async def chunks() -> Any:
        yield b"content"

    files = FileStore(tmp_path / "files")
    kept = files.keep(await files.receive(chunks(), ""), "name", "batch", "")
    lost = await files.receive(chunks(), "")
    (tmp_path / "files" / "file-x.json").write_text("{")
    again = FileStore(tmp_path / "files")
    assert again.all_of("") == [kept]
    assert not again.path(lost).exists()

    def read() -> BatchQueue:
        return BatchQueue(tmp_path / "batches", again, None, in_flight=1, unix_offset=0.0)  # type: ignore[arg-type]

    record = read().create(COMPLETIONS, kept.file_id, "", None)
    assert read().all_of("") == [record]
