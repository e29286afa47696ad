"""An HTTP client whose network link goes down: it sends no FIN, and its job ends nevertheless."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cactus_actors.gateway.http.api_keys import digest_of
from cactus_actors.gateway.http.timeouts import GatewayTimeouts
from tests.support.processes.network_link import Link
from tests.support.router.scripted_router import until
from tests.support.services.fake_worker_service import FakeWorkerService, fake_worker_service

KEY = "ann-0123456789abcdef"
PEER_TIMEOUT_S = 6
WORDS = ("word ",) * 100_000


@pytest.fixture
def link(need: Callable[[str], None]) -> Iterator[Link]:
    need("ip")
    need("curl")
    link = Link()
    yield link
    link.remove()


@pytest.fixture
def service(tmp_path: Path, link: Link) -> Iterator[FakeWorkerService]:
    timeouts = GatewayTimeouts(peer_s=PEER_TIMEOUT_S)
    settings = {"key_digests": [digest_of(KEY)], "behind_proxy": True}  # no TLS: this test owns the link
    with fake_worker_service(
        tmp_path, gateway=settings, listen=f"{link.host}:0", timeouts=timeouts, words=WORDS
    ) as service:
        yield service


@pytest.mark.parametrize("is_streamed", [True, False])
def test_the_job_of_an_unreachable_http_client_ends(service: FakeWorkerService, link: Link, is_streamed: bool) -> None:
    body = json.dumps({"prompt": "a", "stream": is_streamed})
    curl = ["curl", "-sN", "-H", f"Authorization: Bearer {KEY}", "-H", "Content-Type: application/json"]
    command = ["ip", "netns", "exec", link.name, *curl, "-d", body, f"{service.url}/v1/completions"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as asking:
        until(lambda: service.worker.num_running == 1)
        if is_streamed:
            assert asking.stdout is not None
            assert asking.stdout.readline()
        link.set("down")
        gone_at = time.monotonic()
        until(lambda: len(service.worker.aborted) == 1, 60.0)
        print(f"noticed after {time.monotonic() - gone_at:.1f} s")
        asking.kill()
