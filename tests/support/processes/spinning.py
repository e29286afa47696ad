"""Processes that use all the processor time that they get."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

FOREVER_S = 900
"""They end by themselves after this time, even if the test does not end them."""


@contextmanager
def spinning(count: int) -> Iterator[None]:
    """Run this number of them inside the context."""
    command = ["timeout", str(FOREVER_S), "sh", "-c", "while :; do :; done"]
    processes = [subprocess.Popen(command) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.terminate()  # `timeout` passes the signal on
        for process in processes:
            process.wait()
