"""The scheduling class of threads for whose answers nobody waits (sched(7)).

A thread of the class SCHED_BATCH has the same share of the processors, but interrupts no other when it wakes: where all
are busy it wakes a little later, and finds more to do. Threads inherit the class of the one that starts them. A class
that somebody else has chosen stays, and so does that of a system without these classes.
"""

from __future__ import annotations

import contextlib
import os
import sys


def schedule_as_batch() -> None:
    """Let this thread interrupt no other when it wakes."""
    if sys.platform == "linux":
        _change(os.SCHED_OTHER, os.SCHED_BATCH)


def schedule_as_usual() -> None:
    """End `schedule_as_batch`."""
    if sys.platform == "linux":
        _change(os.SCHED_BATCH, os.SCHED_OTHER)


def _change(present: int, wanted: int) -> None:
    with contextlib.suppress(OSError):  # a sandbox may forbid it
        if os.sched_getscheduler(0) == present:
            os.sched_setscheduler(0, wanted, os.sched_param(0))
