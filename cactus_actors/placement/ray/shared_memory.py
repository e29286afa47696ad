"""Checks shared memory, without which a private Ray would hang and report a misleading error."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from cactus_actors.protocol.errors import ConfigurationInvalid

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108  where Linux has it, shm_overview(7)


def check_shared_memory() -> None:
    """Raises ConfigurationInvalid where there is none, or none that can be written."""
    if sys.platform != "linux":
        return
    try:
        tempfile.TemporaryFile(dir=SHARED_MEMORY).close()
    except OSError as error:
        raise ConfigurationInvalid(
            f"{SHARED_MEMORY}: {error.strerror or error}; "
            "Ray needs it for its object store; in a container, mount it (--shm-size)"
        ) from None
