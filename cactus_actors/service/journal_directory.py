"""The directory of a service's journal of accepted jobs."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path

from cactus_actors.config import ServeConfig


def journal_directory(config: ServeConfig) -> Path:
    """The journal directory, which the next service on the same endpoint uses again.

    A service on an automatically chosen port has a directory of its own, for restarts of its router only.
    """
    endpoint = config.jobs_endpoint
    if is_reusable(endpoint):
        name = re.sub(r"[^A-Za-z0-9.]+", "-", endpoint)
    else:  # one process may run several services
        name = f"process-{os.getpid()}-{secrets.token_hex(4)}"
    return config.state_dir.expanduser() / "journal" / name


def is_reusable(endpoint: str) -> bool:
    """Whether the endpoint is fixed, so that the next service can use the same one."""
    return not endpoint.endswith((":*", ":0"))
