"""One real service for all clients, and gateways that refuse requests."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from cactus_actors.gateway.http.api_keys import digest_of
from tests.support.services.real_service import KEY, RealService, real_service


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealService]:
    with real_service(tmp_path_factory.mktemp("state")) as service:
        yield service


@pytest.fixture(scope="session")
def guarded_url(service: RealService) -> str:
    """A gateway that requires KEY."""
    return service.start_gateway(key_digests=[digest_of(KEY)])


@pytest.fixture(scope="session")
def narrow_url(service: RealService) -> str:
    """A gateway that accepts one open request."""
    return service.start_gateway(max_open_requests=1)


@pytest.fixture(scope="session")
def full_url(service: RealService) -> Iterator[str]:
    """The same, with one: the page's stream of the service, which has no end."""
    url = service.start_gateway(max_open_requests=1)
    with httpx.stream("GET", f"{url}/page/service", timeout=60) as response:
        assert response.status_code == 200
        yield url


@pytest.fixture(scope="session")
def empty_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A gateway of a service without workers."""
    with real_service(tmp_path_factory.mktemp("empty"), num_workers=0) as service:
        yield service.url
