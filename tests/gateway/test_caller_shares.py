"""Slow and large requests of one caller leave capacity for other callers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from cactus_actors.gateway.http.api_keys import digest_of
from tests.support.http.raw_http import connection, post
from tests.support.services.fake_worker_service import JSON, FakeWorkerService, fake_worker_service

ANN, BEN = "ann-0123456789abcdef", "ben-0123456789abcdef"
MIB = 1024 * 1024
NUM_ATTACKS, NUM_REQUESTS = 99, 25
MAX_BODY = 4 * MIB


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeWorkerService]:
    settings = {
        "key_digests": [digest_of(ANN), digest_of(BEN)],
        "max_open_requests": 100,
        "max_open_bytes": 64 * MIB,
    }
    with fake_worker_service(tmp_path_factory.mktemp("state"), gateway=settings) as service:
        yield service


def all_answered(service: FakeWorkerService, key: str) -> list[int]:
    """The statuses of many simultaneous requests."""

    def ask(_: int) -> int:
        with service.http(headers={"authorization": f"Bearer {key}"}) as http:
            return http.post("/v1/completions", json={"prompt": "a"}).status_code

    with ThreadPoolExecutor(NUM_REQUESTS) as threads:
        return list(threads.map(ask, range(NUM_REQUESTS)))


@pytest.mark.parametrize("num_bytes", [1, MAX_BODY - 100])
def test_unfinished_requests_of_one_key_leave_room_for_other_keys(service: FakeWorkerService, num_bytes: int) -> None:
    head = post(b"Content-Length: %d" % (num_bytes + 1), key=ANN, body=b"", has_length=False)
    with contextlib.ExitStack() as opened:
        for _ in range(NUM_ATTACKS):
            attack = opened.enter_context(connection(service.url))
            with contextlib.suppress(OSError):  # refused for lack of memory
                attack.sendall(head + b" " * num_bytes)
        assert all_answered(service, BEN) == [200] * NUM_REQUESTS


def test_many_large_requests_of_one_key_leave_room_for_other_keys(service: FakeWorkerService) -> None:
    body = b'{"prompt":"a","x":[' + b",".join([b'{"a":1}'] * (MAX_BODY // 8 - 100)) + b"]}"

    def attack(_: int) -> int:
        with contextlib.suppress(httpx.TransportError), service.http(headers=JSON) as http:
            headers = {"authorization": f"Bearer {ANN}"}
            return http.post("/v1/completions", content=body, headers=headers).status_code
        return 0

    with ThreadPoolExecutor(20) as threads:
        attacks = threads.map(attack, range(24))
        assert all_answered(service, BEN) == [200] * NUM_REQUESTS
        assert set(attacks) <= {0, 400, 429}


def test_a_body_of_too_many_objects_is_refused_but_braces_in_text_are_accepted(
    service: FakeWorkerService,
) -> None:
    with service.http(headers={"authorization": f"Bearer {ANN}"}) as http:
        many = b'{"prompt":"a","x":[' + b",".join([b"{}"] * 200_000) + b"]}"
        refused = http.post("/v1/completions", content=many, headers=JSON)
        assert refused.status_code == 400
        assert "objects and arrays" in refused.json()["error"]["message"]
        text = b'{"prompt":"a","x":"' + rb"{[\"\\" * 200_000 + b'"}'
        assert http.post("/v1/completions", content=text, headers=JSON).status_code == 200


@pytest.mark.parametrize(
    ("field", "value"),
    [("messages", [{"role": "user", "content": "a"}] * 5000), ("prompt", [1] * 50_000), ("prompt", "a" * 1_000_000)],
)
def test_a_prompt_beyond_the_context_is_refused_at_once(service: FakeWorkerService, field: str, value: object) -> None:
    path = "/v1/chat/completions" if field == "messages" else "/v1/completions"
    with service.http(headers={"authorization": f"Bearer {ANN}"}) as http:
        answer = http.post(path, json={field: value})
    assert answer.status_code == 400
    assert (answer.json()["error"]["type"], answer.json()["error"]["param"]) == ("exceed_context_size_error", field)
