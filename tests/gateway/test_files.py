"""Uploaded files: stored unchanged, listed, read, deleted, and refused."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from tests.support.http.batches import line, upload
from tests.support.services.fake_worker_service import FakeWorkerService, fake_worker_service


def test_a_file_is_stored_listed_read_and_deleted(http: httpx.Client) -> None:
    content = line("a") * 3
    stored = upload(http, content).json()
    assert (stored["object"], stored["filename"], stored["purpose"]) == ("file", "in.jsonl", "batch")
    assert stored["bytes"] == len(content)
    path = f"/v1/files/{stored['id']}"
    assert http.get(path).json() == stored
    assert http.get(f"{path}/content").content == content
    other = upload(http, b"x").json()
    listed = http.get("/v1/files").json()["data"]
    assert [one["id"] for one in listed][:2] == [other["id"], stored["id"]]
    behind = http.get("/v1/files", params={"after": other["id"], "limit": 1}).json()
    assert [one["id"] for one in behind["data"]] == [stored["id"]]
    assert http.delete(path).json() == {"id": stored["id"], "object": "file", "deleted": True}
    for gone in (http.get(path), http.get(f"{path}/content"), http.delete(path)):
        assert gone.status_code == 404
    too_long = "000000001" + "0" * 5000
    for wrong in ({"limit": "0"}, {"limit": "x"}, {"limit": "0000100009"}, {"limit": too_long}, {"after": "nothing"}):
        assert http.get("/v1/files", params=wrong).status_code == 400


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 3_000_000])
def test_an_upload_is_stored_unchanged(http: httpx.Client, size: int) -> None:
    content = (b"\r\n--\r\n\0" * (size // 7 + 1))[:size]
    stored = upload(http, content).json()
    assert stored["bytes"] == size
    assert http.get(f"/v1/files/{stored['id']}/content").content == content


def test_an_invalid_form_leaves_no_file(service: FakeWorkerService, http: httpx.Client) -> None:
    before = http.get("/v1/files").json()["data"]
    assert upload(http, b"x", purpose="fine-tune").json()["error"]["param"] == "purpose"
    nameless = http.post("/v1/files", files={"file": ("in.jsonl", b"x")}).json()["error"]
    assert (nameless["param"], nameless["message"]) == ("purpose", "purpose must be 'batch'; the form has none")
    long = http.post("/v1/files", files={"file": ("in.jsonl", b"x")}, data={"purpose": "b" * 5000}).json()["error"]
    assert (long["param"], long["message"]) == ("purpose", "a field of the form is above 4096 bytes")
    assert http.post("/v1/files", data={"purpose": "batch"}).status_code == 415
    form = "multipart/form-data; boundary=b"
    for body, headers in (
        (b"--b\r\nContent-Disposition: form-data; name=purpose\r\n\r\nbatch\r\n--b--\r\n", form),
        (b"--b\r\nContent-Disposition: form-data; name=file; filename=f\r\n\r\nhalf", form),
        (b"rubbish", form),
        (b"", form),
        (b"rubbish", "multipart/form-data"),
    ):
        response = http.post("/v1/files", content=body, headers={"content-type": headers})
        assert response.status_code == 400
    assert http.get("/v1/files").json()["data"] == before
    contents = list(Path(service.settings.state_dir, "http/files").glob("*.content"))
    assert len(contents) == len(list(Path(service.settings.state_dir, "http/files").glob("*.json")))


def test_a_file_has_a_size_limit(tmp_path: Path) -> None:
    with fake_worker_service(tmp_path, gateway={"max_file_bytes": 1000}) as service, service.http() as http:
        assert upload(http, b"x" * 1000).status_code == 200
        for too_many in (
            1001,
            60_000,
            100_000,
        ):  # the last one is also above the limit for the rest of the form
            refused = upload(http, b"x" * too_many)
            assert (refused.status_code, refused.json()["error"]["type"]) == (413, "payload_too_large")
        assert len(http.get("/v1/files").json()["data"]) == 1


@pytest.mark.parametrize("name", ["a\0b", "a\x1fb", "a\x7fb", "n" * 256, "é" * 128])
def test_a_file_with_an_invalid_name_is_refused(service: FakeWorkerService, http: httpx.Client, name: str) -> None:
    kept = sorted(Path(service.settings.state_dir, "http/files").iterdir())
    form = b'--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--b\r\n'
    form += b'Content-Disposition: form-data; name="file"; filename="' + name.encode() + b'"\r\n\r\nx\r\n--b--\r\n'
    headers = {"content-type": "multipart/form-data; boundary=b"}
    refused = http.post("/v1/files", content=form, headers=headers)
    assert refused.status_code == 400
    assert sorted(Path(service.settings.state_dir, "http/files").iterdir()) == kept


def test_a_form_with_binary_headers_is_refused_with_a_clear_message(http: httpx.Client) -> None:
    form = b'--b\r\nContent-Disposition: form-data; name="file"; filename="\xff\xfe"\r\n\r\nx\r\n--b--\r\n'
    refused = http.post("/v1/files", content=form, headers={"content-type": "multipart/form-data; boundary=b"})
    assert refused.status_code == 400
    assert "Error" not in refused.json()["error"]["message"]


def test_a_file_name_has_255_bytes_at_most(http: httpx.Client) -> None:
    name = "é" * 127 + "n"
    stored = http.post("/v1/files", files={"file": (name, b"x")}, data={"purpose": "batch"})
    assert (stored.status_code, stored.json()["filename"]) == (200, name)
