"""A RouterCore that tests drive by events."""

from __future__ import annotations

import pytest

from tests.support.router.core_harness import RouterHarness


@pytest.fixture
def router() -> RouterHarness:
    return RouterHarness()
