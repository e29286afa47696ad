"""Makes garbage collection rare in the router."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

THRESHOLDS = (50_000, 20, 100)
"""A turn of the loop makes thousands of short-lived objects; examining them for cycles takes a third of the time of
a token."""


@contextlib.contextmanager
def rare_garbage_collection() -> Iterator[None]:
    """Exempt all present objects from garbage collection, and run it rarely; at the end, undo both.

    If there are exempt objects already, all stay exempt.
    """
    before, num_exempt = gc.get_threshold(), gc.get_freeze_count()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        if not num_exempt:
            gc.unfreeze()
