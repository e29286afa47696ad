"""When Python looks for garbage in the router."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

THRESHOLDS = (50_000, 20, 100)
"""A turn of the loop makes thousands of objects that end with it: looking for cycles among them takes a third
of the time of a token."""


@contextlib.contextmanager
def rare_garbage_collection() -> Iterator[None]:
    """What there is now is taken to live as long as the process, and cycles are looked for rarely."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
