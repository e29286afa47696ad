"""The record of all actions and observations, in order: one JSON object per line."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Event = dict[str, Any]


class History:
    """Appends events to a file and counts them; `at` is seconds since the beginning."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w")
        self._started_at = time.monotonic()
        self.num_events = 0

    def note(self, kind: str, **fields: Any) -> None:
        event = {"at": round(time.monotonic() - self._started_at, 4), "kind": kind, **fields}
        self._file.write(json.dumps(event) + "\n")
        self.num_events += 1

    def close(self) -> None:
        self._file.close()


def read(path: Path) -> Iterator[Event]:
    """The events of a file, in their order."""
    with path.open() as file:
        yield from map(json.loads, file)
