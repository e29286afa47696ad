"""The server of a service's own Ray: killed, and started again as it was."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

from tests.chaos.serving import Serving


class RayServer:
    """What its process was started with, and where the nodes look for it."""

    def __init__(self, service: Serving) -> None:
        self._pid = service.pid("gcs_server")
        at_node = Path(f"/proc/{service.pid('raylet')}/cmdline").read_text()
        found = re.search(r"--gcs-address=[^:]*:(\d+)", at_node)
        assert found is not None
        directory = Path(f"/proc/{self._pid}")
        words = (directory / "cmdline").read_text().rstrip("\0").split("\0")
        self._command = [
            re.sub("^--gcs_server_port=0$", f"--gcs_server_port={found[1]}", word) for word in words
        ]
        assignments = (directory / "environ").read_text().rstrip("\0").split("\0")
        self._environment = dict(word.split("=", 1) for word in assignments)
        self._again: subprocess.Popen[bytes] | None = None

    def kill(self) -> None:
        """Kill -9."""
        os.kill(self._pid, signal.SIGKILL)

    def start_again(self) -> None:
        self._again = subprocess.Popen(
            self._command, env=self._environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def stop(self) -> None:
        """End the one that was started again."""
        if self._again is not None:
            self._again.kill()
            self._again.wait()
