"""The batches whose cost is in the record of spending, so that each is counted once."""

from __future__ import annotations

import logging
from pathlib import Path

import msgspec

from cactus_actors.keys.private_file import read_private, write_private
from cactus_actors.protocol.errors import ConfigurationInvalid

MAX_KEPT = 10_000
_log = logging.getLogger(__name__)


class SettledBatches:
    """Ids of batches, the latest MAX_KEPT, in a private file; without a path they are forgotten with the process.

    With an unreadable file every batch counts as settled: spending is not counted twice.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._ids: dict[str, None] = {}
        self._is_damaged = False
        if path is not None and path.exists():
            try:
                self._ids = dict.fromkeys(msgspec.json.decode(read_private(path), type=list[str]))
            except (ConfigurationInvalid, msgspec.DecodeError, UnicodeDecodeError):
                self._is_damaged = True
                _log.error("%s: the record of batches cannot be read; remove it", path)

    def has(self, batch_id: str) -> bool:
        return self._is_damaged or batch_id in self._ids

    def add(self, batch_id: str) -> None:
        """Record that the cost of a batch was counted."""
        self._ids[batch_id] = None
        while len(self._ids) > MAX_KEPT:
            del self._ids[next(iter(self._ids))]
        if self._path is not None and not self._is_damaged:
            try:
                write_private(self._path, msgspec.json.encode(list(self._ids)))
            except ConfigurationInvalid as error:
                _log.error("the record of batches cannot be stored: %s", error.message)
