"""A service with a fake worker, shared by the tests that only send requests."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.support.http.exposition import Families, families_in, scraped
from tests.support.services.fake_worker_service import FakeWorkerService, fake_worker_service


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeWorkerService]:
    with fake_worker_service(tmp_path_factory.mktemp("state")) as service:
        yield service


@pytest.fixture
def http(service: FakeWorkerService) -> Iterator[httpx.Client]:
    with service.http() as client:
        yield client


@pytest.fixture(scope="session")
def exposition(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The text of /metrics of a service that did some work."""
    return scraped(tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="session")
def families(exposition: str) -> Families:
    return families_in(exposition)
