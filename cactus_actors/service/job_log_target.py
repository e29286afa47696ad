"""Where the router writes its job log, and how it comes to the standard error of another process."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from pathlib import Path

from cactus_actors.config import ServeConfig

FILE_NAME = "jobs.jsonl"
STANDARD_ERROR = "-"
NO_LOG = "none"
_MAX_READ = 65_536


class JobLogTarget:
    """The path that the router is given.

    For standard error it is a pipe of this process, whose lines are handed to `say`.
    """

    def __init__(self, config: ServeConfig, say: Callable[[str], None]) -> None:
        self._writer = -1
        self.path: str | None = None
        if config.job_log == STANDARD_ERROR:
            # Without a name on the disk nothing is left of it, however this process ends.
            self._reader, self._writer = os.pipe()
            self.path = f"/proc/{os.getpid()}/fd/{self._writer}"
            self._thread = threading.Thread(target=self._relay, args=(say,), name="job log", daemon=True)
            self._thread.start()
        elif config.job_log is None:
            self.path = str(config.state_dir.expanduser() / FILE_NAME)
        elif config.job_log != NO_LOG:
            self.path = str(Path(config.job_log).expanduser().absolute())

    def close(self) -> None:
        """Hand on what was written, and no more; a second time changes nothing."""
        if self._writer < 0:
            return
        os.set_blocking(self._writer, False)
        with contextlib.suppress(BlockingIOError):  # nobody reads standard error either
            os.write(self._writer, b"\n")  # an empty line: the last one
        self._thread.join(1.0)
        os.close(self._writer)
        self._writer = -1

    def _relay(self, say: Callable[[str], None]) -> None:
        rest = b""
        while True:
            *lines, rest = (rest + os.read(self._reader, _MAX_READ)).split(b"\n")
            for line in lines:
                if not line:
                    os.close(self._reader)
                    return
                say(line.decode(errors="replace"))
