"""A scripted router and a client of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from cactus_actors import AsyncClient
from tests.support.router.scripted_router import ScriptedRouter


@pytest.fixture
def router() -> Iterator[ScriptedRouter]:
    with ScriptedRouter() as router:
        yield router


@pytest.fixture
async def client(router: ScriptedRouter) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(router.endpoint, router.stream_endpoint, timeout=30.0) as client:
        yield client
