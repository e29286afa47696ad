"""Fixtures for tests of keys."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.router.running_router import Service, serving
from tests.support.router.secured_router import SecuredRouter, secured_router


@pytest.fixture
def router(tmp_path: Path) -> Iterator[SecuredRouter]:
    """A router that requires keys."""
    with secured_router(tmp_path) as router:
        yield router


@pytest.fixture
def service() -> Iterator[Service]:
    with serving() as service:
        yield service
