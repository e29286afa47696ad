"""One engine under measurement: a process of its own that answers one measurement at a time.

A request is a JSON line with the name of a measurement and its arguments, the answer a JSON line. A process
keeps its model between requests and does nothing while it has none, so that two sides can take turns.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


class SideFailed(Exception):
    """A side ended, or could not start; the message says which and what its last words were."""


class Side:
    """The process `command`; use it as a context manager."""

    def __init__(
        self, name: str, command: Sequence[str], environment: Mapping[str, str] | None = None
    ) -> None:
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
        """One measurement's answer; raises SideFailed if the process ends instead."""
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
    def cpu_seconds(self) -> float:
        """Processor time that the process has used so far, in user and system mode."""
        stat = Path(f"/proc/{self._process.pid}/stat").read_text()
        fields = stat.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS_A_SECOND

    def _failed(self) -> SideFailed:
        return SideFailed(f"{self.name} ended with exit code {self._process.wait()}; see the lines above")
