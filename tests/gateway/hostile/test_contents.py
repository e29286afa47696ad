"""Well-formed requests for forbidden things."""

from __future__ import annotations

import sys
from typing import Any

import httpx
import pytest

from tests.support.http.hostile_bodies import ANN, BEN, CHAT, COMPLETIONS
from tests.support.router.scripted_router import until
from tests.support.services.fake_worker_service import FakeWorkerService


def test_two_idempotency_keys_are_refused(service: FakeWorkerService) -> None:
    headers = [("idempotency-key", "one"), ("idempotency-key", "two"), ("authorization", f"Bearer {ANN}")]
    with service.http() as http:
        refused = http.post(COMPLETIONS, json={"prompt": "a"}, headers=headers)
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "Idempotency-Key")


def test_a_file_that_a_batch_of_another_key_reads_is_not_found(service: FakeWorkerService) -> None:
    line = b'{"custom_id":"a","method":"POST","url":"/v1/completions","body":{"prompt":"a"}}\n'
    with (
        service.http(headers={"authorization": f"Bearer {ANN}"}) as ann,
        service.http(headers={"authorization": f"Bearer {BEN}"}) as ben,
    ):
        file_id = ann.post("/v1/files", files={"file": ("in.jsonl", line * 1)}, data={"purpose": "batch"}).json()["id"]
        batch = {"input_file_id": file_id, "endpoint": COMPLETIONS, "completion_window": "24h"}
        batch_id = ann.post("/v1/batches", json=batch).json()["id"]
        assert service.gateway is not None
        assert ben.delete(f"/v1/files/{file_id}").status_code == 404
        assert ben.post(f"/v1/batches/{batch_id}/cancel").status_code == 404
        until(lambda: ann.delete(f"/v1/files/{file_id}").status_code == 200)


MEDIA_URLS = [
    "file:///etc/passwd",
    "http://169.254.169.254/latest/meta-data",
    "http://[::ffff:127.0.0.1]:1/",
    "http://0x7f.1/",
    "http://localtest.me/",
    "https://example.org/redirect",
    "data:image/png;base64," + "A" * 1_000_000,
    "ftp://127.0.0.1/x",
    "//127.0.0.1/x",
]
MEDIA_KINDS = ["image_url", "input_audio", "video_url", "file", "input_image", "document_url"]
MEDIA = [*((url, MEDIA_KINDS[0]) for url in MEDIA_URLS), *((MEDIA_URLS[0], kind) for kind in MEDIA_KINDS)]


def test_media_is_refused_and_nothing_is_fetched(service: FakeWorkerService, http_client: httpx.Client) -> None:
    reached: list[Any] = []
    is_watched = True

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if is_watched and event in ("socket.connect", "socket.getaddrinfo", "urllib.Request"):
            reached.append(arguments[1] if event == "socket.connect" else arguments[0])

    sys.addaudithook(watch)
    try:
        for url, kind in MEDIA:
            for value in (url, {"url": url, "file_data": url, "data": url}):
                content = [{"type": "text", "text": "what is it?"}, {"type": kind, kind: value}]
                refused = http_client.post(CHAT, json={"messages": [{"role": "user", "content": content}]})
                assert refused.status_code == 400
                error = refused.json()["error"]
                assert error["type"] == "not_supported_error"
                assert error["param"].startswith("messages[0].content")
                assert ("pictures" if "image" in kind else kind) in error["message"]
                assert len(error["message"]) < 500
    finally:
        is_watched = False
    ours = int(service.url.rpartition(":")[2])
    assert all(place == ("127.0.0.1", ours) or place in ("127.0.0.1", b"127.0.0.1") for place in reached)


def test_long_names_are_shortened_in_errors(http_client: httpx.Client) -> None:
    for path in (f"/v1/models/{'m' * 20_000}", f"/v1/files/{'f' * 20_000}", f"/v1/requests/{'r' * 20_000}"):
        missing = http_client.get(path)
        assert missing.status_code == 404
        assert len(missing.json()["error"]["message"]) < 300


@pytest.mark.parametrize(
    ("length", "max_tokens", "status", "num_tokens"),
    [(4096, 1, 400, 0), (4095, 1, 400, 0), (4094, 2, 200, 1), (4093, 2, 200, 2)],
)
def test_the_context_ends_at_the_documented_position(
    http_client: httpx.Client, length: int, max_tokens: int, status: int, num_tokens: int
) -> None:
    response = http_client.post(COMPLETIONS, json={"prompt": "x" * length, "max_tokens": max_tokens})
    assert response.status_code == status
    if status == 400:
        error = response.json()["error"]
        assert error["type"] == "exceed_context_size_error"
        assert str(length + 1) in error["message"]  # with the start token of a prompt
        assert "4096" in error["message"]
    else:
        assert response.json()["usage"]["completion_tokens"] == num_tokens
