"""A service whose model is played, shared by the tests that only ask."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.gateway.played_service import PlayedService, played_service


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlayedService]:
    with played_service(tmp_path_factory.mktemp("state")) as service:
        yield service


@pytest.fixture
def http(service: PlayedService) -> Iterator[httpx.Client]:
    with service.http() as client:
        yield client
