"""Starts the router's child processes, each with a socket to the router."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Mapping


def start_child(
    module: str, *arguments: str, environment: Mapping[str, str] | None = None
) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Run `python -m MODULE FD PARENT ARGUMENTS`: FD is the child's end of the socket pair; raises OSError."""
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-P", "-m", module, str(theirs.fileno()), str(os.getpid()), *arguments]
    path = os.pathsep.join(filter(None, sys.path))
    try:
        process = subprocess.Popen(
            command,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            env={**os.environ, **(environment or {}), "PYTHONPATH": path},
        )
    except OSError:
        ours.close()
        raise
    finally:
        theirs.close()
    return process, ours
