"""A router with a local and a cloud worker."""

from __future__ import annotations

import pytest

from tests.support.router.core_harness import RouterHarness
from tests.support.router.worker_messages import Worker


@pytest.fixture
def router() -> RouterHarness:
    router = RouterHarness()
    router.connect("w1")
    return router


@pytest.fixture
def cloud(router: RouterHarness) -> Worker:
    return router.connect("cloud", kind="cloud", num_slots=1, model="big")
