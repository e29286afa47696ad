"""The results of ended jobs, in a bounded memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

import msgspec

from cactus_actors.router.state.journal_records import StoredResult

RECENT_BYTES = 8 * 1024 * 1024
"""Where a journal holds them all, only the newest results are worth their memory."""

ENTRY_BYTES = 256
"""What a result takes beside its content."""


class ResultStore:
    """Holds results encoded, so that what they take is known, and lets the oldest go beyond `max_bytes`.

    With a journal a result may be let go once it is on disk, and not before. Without one it is lost then.
    """

    def __init__(self, max_bytes: int, *, has_journal: bool) -> None:
        self.num_bytes = 0
        self._max_bytes = min(max_bytes, RECENT_BYTES) if has_journal else max_bytes
        self._has_journal = has_journal
        self._contents: OrderedDict[str, bytes] = OrderedDict()
        self._unwritten: set[str] = set()
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder(StoredResult).decode

    def __len__(self) -> int:
        return len(self._contents)

    def __contains__(self, job_id: str) -> bool:
        return job_id in self._contents

    def add(self, job_id: str, remembered: StoredResult, *, is_written: bool = False) -> None:
        """Hold a result; `is_written` says that the journal has it already."""
        self.forget(job_id)
        content = self._encode(remembered)
        self._contents[job_id] = content
        self.num_bytes += len(content) + ENTRY_BYTES
        if self._has_journal and not is_written:
            self._unwritten.add(job_id)
        self._let_go()

    def get(self, job_id: str) -> StoredResult | None:
        content = self._contents.get(job_id)
        return None if content is None else self._decode(content)

    def on_written(self, job_ids: Iterable[str]) -> None:
        """The journal has these results."""
        self._unwritten.difference_update(job_ids)
        self._let_go()

    def forget(self, job_id: str) -> None:
        """Nobody may ask for it any more."""
        content = self._contents.pop(job_id, None)
        if content is not None:
            self.num_bytes -= len(content) + ENTRY_BYTES
            self._unwritten.discard(job_id)

    def _let_go(self) -> None:
        while self.num_bytes > self._max_bytes and self._contents:
            oldest = next(iter(self._contents))
            if oldest in self._unwritten:
                return
            self.forget(oldest)
