"""The parsed sources, which all tests of this folder share, are freed after the last of them."""

from __future__ import annotations

import pytest

from tests.support.conventions.sources import forget_sources


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    if nextitem is None or nextitem.path.parent != item.path.parent:
        forget_sources()
