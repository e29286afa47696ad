"""Where a service keeps the jobs that it has accepted."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path

from cactus_actors.config import ServeConfig


def journal_directory(config: ServeConfig) -> Path:
    """Found again by the next service on the same endpoint.

    Nobody finds a service again whose port was free to choose: its journal serves its own restarts only.
    """
    endpoint = config.jobs_endpoint
    if is_reusable(endpoint):
        name = re.sub(r"[^A-Za-z0-9.]+", "-", endpoint)
    else:  # one process may run several services
        name = f"process-{os.getpid()}-{secrets.token_hex(4)}"
    return config.state_dir.expanduser() / "journal" / name


def is_reusable(endpoint: str) -> bool:
    """Whether the next service on this endpoint is where this one was."""
    return not endpoint.endswith((":*", ":0"))
