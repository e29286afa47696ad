"""Processes that take all the time of every core that they get."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

FOREVER_S = 900
"""They end by themselves after so long, whatever becomes of the test."""


@contextmanager
def spinning(count: int) -> Iterator[None]:
    """So many of them run inside."""
    command = ["timeout", str(FOREVER_S), "sh", "-c", "while :; do :; done"]
    processes = [subprocess.Popen(command) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.terminate()  # `timeout` hands it on
        for process in processes:
            process.wait()
