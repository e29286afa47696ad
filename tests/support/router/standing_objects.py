"""Keeps garbage collection cheap in a process that holds the objects of all tests.

Ten thousand collected tests are millions of objects, and a full collection examines them for half a second. Objects
that stay are exempt: a full collection then examines only what the running test made. A router that starts exempts all
objects of its process, those of the test, too. So every 20th start examines all, which frees what tests left.
"""

from __future__ import annotations

import gc
import itertools
from collections.abc import Generator

import pytest

STARTS_PER_COLLECTION = 20

_starts = itertools.count(1)


def exempt_standing_objects() -> None:
    """Exempt all present objects; call this before a router starts in this process."""
    if next(_starts) % STARTS_PER_COLLECTION == 0:
        gc.unfreeze()
        gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Exempt the collected tests, and examine nothing while they are collected."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
