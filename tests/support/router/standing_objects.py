"""Makes the start of a router cheap in a process that holds the objects of all tests.

A router examines all objects of its process for garbage when it starts, which takes a fifth of a second among ten
thousand collected tests. Hundreds of tests start one.
"""

from __future__ import annotations

import gc
import itertools

STARTS_PER_COLLECTION = 20

_starts = itertools.count()


def exempt_standing_objects() -> None:
    """Exempt all present objects from the next start, except at every 20th one, which frees what tests left."""
    if next(_starts) % STARTS_PER_COLLECTION:
        gc.freeze()
