"""A gateway with keys, and one with short timeouts."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from cactus_actors.gateway.http.api_keys import digest_of
from cactus_actors.gateway.http.timeouts import GatewayTimeouts
from tests.support.http.hostile_bodies import ANN, BEARER, BEN, MAX_OPEN_BYTES
from tests.support.services.fake_worker_service import FakeWorkerService, fake_worker_service


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeWorkerService]:
    settings = {"key_digests": [digest_of(ANN), digest_of(BEN)], "max_open_bytes": MAX_OPEN_BYTES}
    with fake_worker_service(tmp_path_factory.mktemp("state"), gateway=settings) as service:
        yield service


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeWorkerService]:
    """The service with short timeouts."""
    timeouts = GatewayTimeouts(headers_s=0.3, body_s=0.3, linger_s=0.3, reader_s=0.3)
    settings = {"key_digests": [digest_of(ANN)], "max_open_bytes": MAX_OPEN_BYTES}
    with fake_worker_service(tmp_path_factory.mktemp("state"), gateway=settings, timeouts=timeouts) as service:
        yield service


@pytest.fixture
def http_client(service: FakeWorkerService) -> Iterator[httpx.Client]:
    with service.http(headers=BEARER) as client:
        yield client
        assert client.get("/readyz").status_code == 200
