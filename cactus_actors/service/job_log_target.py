"""The target of the router's job log: a file, or the standard error of this process."""

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
    """The path that the router writes to.

    For standard error the path is a pipe of this process, whose lines are passed to `write_line`.
    """

    def __init__(self, config: ServeConfig, write_line: Callable[[str], None]) -> None:
        self._writer = -1
        self.path: str | None = None
        if config.job_log == STANDARD_ERROR:
            # A pipe without a name leaves no file behind, however this process ends.
            self._reader, self._writer = os.pipe()
            self.path = f"/proc/{os.getpid()}/fd/{self._writer}"
            self._thread = threading.Thread(target=self._relay, args=(write_line,), name="job log", daemon=True)
            self._thread.start()
        elif config.job_log is None:
            self.path = str(config.state_dir.expanduser() / FILE_NAME)
        elif config.job_log != NO_LOG:
            self.path = str(Path(config.job_log).expanduser().absolute())

    def close(self) -> None:
        """Pass on the written lines, then stop; a second call does nothing."""
        if self._writer < 0:
            return
        os.set_blocking(self._writer, False)
        with contextlib.suppress(BlockingIOError):  # nothing reads standard error either
            os.write(self._writer, b"\n")  # an empty line: the last one
        self._thread.join(1.0)
        os.close(self._writer)
        self._writer = -1

    def _relay(self, write_line: Callable[[str], None]) -> None:
        rest = b""
        while True:
            *lines, rest = (rest + os.read(self._reader, _MAX_READ)).split(b"\n")
            for line in lines:
                if not line:
                    os.close(self._reader)
                    return
                write_line(line.decode(errors="replace"))
