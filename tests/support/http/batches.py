"""Prompt files that run over HTTP."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import httpx

from tests.support.router.scripted_router import until

COMPLETIONS = "/v1/completions"


def begun(http: httpx.Client, bodies: Sequence[dict[str, Any]]) -> str:
    """Start a batch with a line for each body; returns its id."""
    lines = [
        json.dumps({"custom_id": f"line-{number}", "method": "POST", "url": COMPLETIONS, "body": body})
        for number, body in enumerate(bodies)
    ]
    file = {"file": ("lines.jsonl", "\n".join(lines).encode())}
    file_id = http.post("/v1/files", files=file, data={"purpose": "batch"}).json()["id"]
    batch = {"input_file_id": file_id, "endpoint": COMPLETIONS, "completion_window": "24h"}
    batch_id: str = http.post("/v1/batches", json=batch).json()["id"]
    return batch_id


def texts_of(http: httpx.Client, batch_id: str) -> dict[str, str]:
    """The answer to each line of a batch that has ended; no line failed, and none occurs twice."""
    until(lambda: http.get(f"/v1/batches/{batch_id}").json()["status"] == "completed", 120)
    record = http.get(f"/v1/batches/{batch_id}").json()
    assert record["error_file_id"] is None
    lines = http.get(f"/v1/files/{record['output_file_id']}/content").text.splitlines()
    read = [json.loads(line) for line in lines]
    texts = {line["custom_id"]: line["response"]["body"]["choices"][0]["text"] for line in read}
    assert len(texts) == len(read)
    return texts


def line(custom_id: str, url: str = COMPLETIONS, **body: Any) -> bytes:
    fields = body or {"prompt": custom_id}
    return json.dumps({"custom_id": custom_id, "method": "POST", "url": url, "body": fields}).encode() + b"\n"


def upload(http: httpx.Client, content: bytes, purpose: str = "batch") -> httpx.Response:
    return http.post("/v1/files", files={"file": ("in.jsonl", content)}, data={"purpose": purpose})


def create(http: httpx.Client, content: bytes, endpoint: str = COMPLETIONS) -> str:
    batch = {
        "input_file_id": upload(http, content).json()["id"],
        "endpoint": endpoint,
        "completion_window": "24h",
        "metadata": {"for": "a test"},
    }
    created = http.post("/v1/batches", json=batch).json()
    assert (created["object"], created["status"], created["metadata"]) == (
        "batch",
        "validating",
        {"for": "a test"},
    )
    name: str = created["id"]
    return name


def ended(http: httpx.Client, batch_id: str) -> dict[str, Any]:
    batch: dict[str, Any] = {}

    def has_ended() -> bool:
        nonlocal batch
        batch = http.get(f"/v1/batches/{batch_id}").json()
        return batch["status"] in ("completed", "failed", "cancelled", "expired")

    until(has_ended)
    return batch


def lines_of(http: httpx.Client, file_id: str) -> dict[str, Any]:
    content = http.get(f"/v1/files/{file_id}/content").text
    lines = [json.loads(written) for written in content.splitlines()]
    assert len({one["custom_id"] for one in lines}) == len(lines)
    return {one["custom_id"]: one for one in lines}
