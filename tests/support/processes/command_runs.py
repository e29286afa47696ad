"""Commands that run as processes."""

from __future__ import annotations

import os
import subprocess
import sys

Outcome = tuple[int, str, str]


def run_main(*arguments: str, environment: dict[str, str] | None = None) -> Outcome:
    """Run the command as a user does, in a process of its own."""
    finished = subprocess.run(
        [sys.executable, "-m", "cactus_actors.cli.main", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | (environment or {}),
    )
    return finished.returncode, finished.stdout, finished.stderr
