"""`cactus demo` as a process of its own, run by a user with a home directory of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.processes.serve_command import CACTUS


@contextmanager
def short_directory() -> Iterator[Path]:
    """The parent of Ray's directories: its sockets need a short path."""
    with tempfile.TemporaryDirectory(prefix="cactus-", ignore_cleanup_errors=True) as directory:
        yield Path(directory)


@contextmanager
def demo_process(directory: Path, ray_parent: Path, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run the command in this directory, which is also its home; what it prints is `said`."""
    with (directory / "said").open("wb") as said:
        process = subprocess.Popen(
            [sys.executable, *CACTUS, "demo", *options],
            cwd=directory,
            env={**os.environ, "HOME": str(directory), "RAY_TMPDIR": str(ray_parent), "COLUMNS": "200"},
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def said(directory: Path) -> str:
    """What the command has printed so far."""
    return (directory / "said").read_text()
