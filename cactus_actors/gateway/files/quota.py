"""Limits on what one API key may store, and for how long."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cactus_actors.gateway.files.record_files import StoredRecord
from cactus_actors.protocol.errors import QuotaExceeded


@dataclass(frozen=True)
class FileQuota:
    """Bounds of each key: `max_files` files of `max_bytes` in all, as many batches, each for `max_age_s`."""

    max_files: int = 1000
    max_bytes: int = 4 * 1024 * 1024 * 1024
    max_age_s: float = 30 * 24 * 3600.0

    def check_number(self, num_kept: int) -> None:
        """Raise QuotaExceeded if no further file fits."""
        if num_kept >= self.max_files:
            raise QuotaExceeded(f"this key keeps {num_kept} files, the maximum; delete some")

    def check_bytes(self, num_bytes: int) -> None:
        """Raise QuotaExceeded above the bound."""
        if num_bytes > self.max_bytes:
            raise QuotaExceeded(
                f"the files of one key, results of batches included, hold at most {self.max_bytes} bytes; delete some"
            )

    def expired(self, records: Iterable[tuple[str, StoredRecord]], now: float) -> list[str]:
        """The names of the records whose retention is over."""
        return [name for name, record in records if record.begins_at + self.max_age_s <= now]
