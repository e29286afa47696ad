"""All tests of this folder share the parsed sources, which are freed after the last of them.

They are more than a million nodes, which a garbage collection would examine: there is none meanwhile.
"""

from __future__ import annotations

import gc

import pytest

from tests.support.conventions.sources import forget_sources


def pytest_runtest_setup() -> None:
    gc.disable()


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    if nextitem is None or nextitem.path.parent != item.path.parent:
        forget_sources()
        gc.enable()
