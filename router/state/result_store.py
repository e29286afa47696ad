"""The results of ended jobs, in a bounded memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import msgspec

from cactus_actors.protocol.errors import ResultDropped, StorageFailure
from cactus_actors.router.state.journal_records import StoredResult

RECENT_BYTES = 8 * 1024 * 1024
"""Bytes of results that are kept in memory where a journal holds all of them."""

ENTRY_BYTES = 256
"""Bytes for a result in addition to its content."""


class ResultStore:
    """Holds encoded results, whose size is known, and drops the oldest ones beyond `max_bytes`.

    With a journal a result is dropped only after it is on disk, and can be loaded from there. Without a
    journal it is lost. Results of every router are returned with this router's `epoch`.
    """

    def __init__(self, max_bytes: int, epoch: int, *, has_journal: bool) -> None:
        self.num_bytes = 0
        self._max_bytes = min(max_bytes, RECENT_BYTES) if has_journal else max_bytes
        self._epoch = epoch
        self._has_journal = has_journal
        self._contents: OrderedDict[str, bytes] = OrderedDict()
        self._unwritten: set[str] = set()
        self._loaded: tuple[str, StoredResult | None] | None = None
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder(StoredResult).decode

    def __len__(self) -> int:
        return len(self._contents)

    def __contains__(self, job_id: str) -> bool:
        return job_id in self._contents

    def add(self, job_id: str, result: StoredResult, *, is_written: bool = False) -> None:
        """Add a result; `is_written` says that the journal has it already."""
        self.forget(job_id)
        content = self._encode(result)
        self._contents[job_id] = content
        self.num_bytes += len(content) + ENTRY_BYTES
        if self._has_journal and not is_written:
            self._unwritten.add(job_id)
        self._drop_oldest()

    def must_load(self, job_id: str) -> bool:
        """True if the result must be read from the journal first."""
        is_loaded = self._loaded is not None and self._loaded[0] == job_id
        return self._has_journal and not is_loaded and job_id not in self

    @contextmanager
    def loaded(self, job_id: str, result: StoredResult | None) -> Iterator[None]:
        """A context in which the stored result of a job is loaded; None if it cannot be read."""
        self._loaded = job_id, result
        try:
            yield
        finally:
            self._loaded = None

    def result_of(self, job_id: str) -> StoredResult:
        """The result of an ended job; raises ResultDropped, or StorageFailure."""
        content = self._contents.get(job_id)
        found = None if content is None else self._decode(content)
        if found is None and self._loaded is not None and self._loaded[0] == job_id:
            found = self._loaded[1]
        if found is None and self._has_journal:
            raise StorageFailure("the job has ended, and its result cannot be read from the journal")
        if found is None:
            raise ResultDropped("the job has ended, and its result was dropped: newer ones needed the room")
        return msgspec.structs.replace(found, accepted=msgspec.structs.replace(found.accepted, epoch=self._epoch))

    def on_written(self, job_ids: Iterable[str]) -> None:
        """Record that the journal has these results."""
        self._unwritten.difference_update(job_ids)
        self._drop_oldest()

    def forget(self, job_id: str) -> None:
        """Remove the result of a job whose retention is over."""
        content = self._contents.pop(job_id, None)
        if content is not None:
            self.num_bytes -= len(content) + ENTRY_BYTES
            self._unwritten.discard(job_id)

    def _drop_oldest(self) -> None:
        while self.num_bytes > self._max_bytes and self._contents:
            oldest = next(iter(self._contents))
            if oldest in self._unwritten:
                return
            self.forget(oldest)
