"""Long texts for /tokenize are processed in turn, and delay no other request."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from cactus_actors.gateway.http.api_keys import digest_of
from cactus_actors.gateway.routes.text import LONG_TEXT
from cactus_actors.gateway.text_queue import MAX_OF_ONE
from tests.support.services.fake_worker_service import FakeWorkerService, fake_worker_service

LONG = {"content": "a" * (LONG_TEXT + 1)}
KEYS = ("the-flooders-key", "the-neighbours-key")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[FakeWorkerService]:
    with fake_worker_service(tmp_path, gateway={"key_digests": [digest_of(key) for key in KEYS]}) as service:
        yield service


def test_a_flood_of_long_texts_is_refused_and_delays_no_request(
    service: FakeWorkerService, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go, encode = threading.Event(), service.text.tokenizer.encode

    def slow(text: str, **options: bool) -> list[int]:
        if len(text) > LONG_TEXT:
            assert may_go.wait(60.0)
        return encode(text, **options)

    monkeypatch.setattr(service.text.tokenizer, "encode", slow)
    flooder, neighbour = ({"authorization": f"Bearer {key}"} for key in KEYS)

    def tokenize(headers: dict[str, str], body: Any = LONG) -> httpx.Response:
        return httpx.post(f"{service.url}/tokenize", json=body, headers=headers, timeout=60.0)

    num_more = 8
    with ThreadPoolExecutor(MAX_OF_ONE + num_more + 1) as pool:
        try:
            flood = [pool.submit(tokenize, flooder) for _ in range(MAX_OF_ONE + num_more)]
            other = pool.submit(tokenize, neighbour)
            while sum(it.done() for it in flood) < num_more:  # the refused ones, while none is done
                assert tokenize(neighbour, {"content": "short"}).status_code == 200
            answer = httpx.post(
                f"{service.url}/v1/completions",
                json={"prompt": "x", "max_tokens": 3},
                headers=neighbour,
                timeout=60.0,
            )
            assert answer.status_code == 200
            assert not other.done()
        finally:
            may_go.set()
        answers = [it.result() for it in flood]
        assert other.result().status_code == 200
    refused = [it for it in answers if it.status_code != 200]
    assert len(refused) == num_more
    for answer in refused:
        assert (answer.status_code, answer.json()["error"]["type"]) == (429, "rate_limit_error")
        assert int(answer.headers["retry-after"]) >= 1
    assert tokenize(flooder).status_code == 200
