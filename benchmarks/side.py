"""One engine under measurement: its own process, which answers one measurement at a time.

A request is a JSON line with the name of a measurement and its arguments, the answer a JSON line. A process
keeps its model between requests and is idle between them, so that two sides can take turns.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self


class SideFailed(Exception):
    """A side ended, or could not start; the message has its name and its last output."""


class Side:
    """The process `command`; use it as a context manager."""

    def __init__(self, name: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        self.name = name
        self._process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONSAFEPATH": "1", **(environment or {})},
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended already
            self._process.stdin.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def ask(self, measurement: str, **arguments: Any) -> dict[str, Any]:
        """Request one measurement; raises SideFailed if the process ends instead."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"measurement": measurement, **arguments}) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._failed() from None
        line = self._process.stdout.readline()
        if not line:
            raise self._failed()
        answer = json.loads(line)
        assert isinstance(answer, dict)
        return answer

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def _failed(self) -> SideFailed:
        return SideFailed(f"{self.name} ended with exit code {self._process.wait()}; see the lines above")
