"""Redirects Ray's output to a file, and announces the first line of each message."""

from __future__ import annotations

import contextlib
import io
import os
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

from cactus_actors.process.private_directories import make_private
from cactus_actors.protocol.errors import ConfigurationInvalid

FILE_NAME = "ray.log"
MAX_FILE_BYTES = 16 * 1024 * 1024
MAX_LINE = 300
RAYS_THREADS = "ray_"
"""The prefix of the names of threads in which Ray prints (ray/_private/worker.py)."""
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_MESSAGE = re.compile(r"\([^)]*\) ")
"""Ray starts each message with its source, such as `(raylet) `; continuation lines have none."""


class RayOutput(io.TextIOBase):
    """Replaces standard output: text printed by Ray's threads goes to a file, all other text to `others`.

    `announce` receives the first line of each message of Ray. The file is truncated, private to this user, and not
    written beyond `max_bytes`. Raises ConfigurationInvalid if it cannot be opened.
    """

    def __init__(
        self, state_dir: Path, announce: Callable[[str], None], others: TextIO, max_bytes: int = MAX_FILE_BYTES
    ) -> None:
        self.path = state_dir / FILE_NAME
        self.descriptor = -1
        self._announce = announce
        self._others = others  # an object that could not be opened is closed, too, when it is freed
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._captured_thread: int | None = None
        self._rest = ""
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            make_private(state_dir)
            self.descriptor = os.open(self.path, flags, 0o600)
        except OSError as error:
            raise ConfigurationInvalid(f"{self.path}: {error.strerror}") from None

    def write(self, text: str) -> int:
        thread = threading.current_thread()
        if thread.ident != self._captured_thread and not thread.name.startswith(RAYS_THREADS):
            return self._others.write(text)
        with self._lock:
            *lines, self._rest = f"{self._rest}{text}".split("\n")
        for line in lines:
            self._take(_COLOUR.sub("", line))
        return len(text)

    @contextlib.contextmanager
    def captured(self) -> Iterator[None]:
        """Within the context, output of this thread counts as Ray's."""
        self._captured_thread = threading.get_ident()
        try:
            yield
        finally:
            self._captured_thread = None

    def flush(self) -> None:
        self._others.flush()

    def last_line(self) -> str:
        """The last line of the file that is not blank."""
        lines = self.path.read_text(errors="replace").splitlines()
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def close(self) -> None:
        if not self.closed and self.descriptor >= 0:
            os.close(self.descriptor)
        super().close()

    def _take(self, line: str) -> None:
        if self.closed:
            return
        if os.fstat(self.descriptor).st_size < self._max_bytes:
            os.write(self.descriptor, f"{line}\n".encode())
        if _MESSAGE.match(line):
            self._announce(f"Ray: {line[:MAX_LINE]} (more in {self.path})")
