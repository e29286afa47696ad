"""A journal in memory that writes on request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from cactus_actors.protocol.errors import StorageFailure
from cactus_actors.router.journal.job_journal import end_of
from cactus_actors.router.journal.record_encoding import decoded_accepted, encoded
from cactus_actors.router.state.journal_records import (
    AcceptedRecord,
    EndedRecord,
    ForgetPictures,
    Recovered,
    StoredResult,
    WriteAccepted,
    WriteEnded,
    WriteTier,
)


@dataclass
class Disk:
    """A journal that writes on request; pending entries are lost with the router."""

    waiting: list[Any] = field(default_factory=list)
    accepted: dict[str, AcceptedRecord] = field(default_factory=dict)
    ended: dict[str, EndedRecord] = field(default_factory=dict)
    pictures: dict[bytes, bytes] = field(default_factory=dict)

    def write(self) -> list[str]:
        """Write the pending entries; returns the ids of the jobs that they accept, or whose tier they have."""
        entries, self.waiting = self.waiting, []
        for entry in entries:
            match entry:
                case WriteAccepted(job_id, record, pictures):
                    self.pictures |= {picture.digest: picture.content for picture in pictures}
                    self.accepted[job_id] = decoded_accepted(encoded(record))
                case WriteTier(job_id, tier):
                    if job_id in self.accepted:
                        self.accepted[job_id] = msgspec.structs.replace(self.accepted[job_id], tier=tier)
                case WriteEnded(job_id, record) if job_id not in self.accepted:
                    pass  # there is no such row
                case WriteEnded(job_id, record):
                    self.ended[job_id] = record
                case ForgetPictures(digests):
                    for digest in digests:
                        self.pictures.pop(digest, None)
                case _:
                    self.accepted.pop(entry.job_id, None)
                    self.ended.pop(entry.job_id, None)
        return [entry.job_id for entry in entries if isinstance(entry, WriteAccepted | WriteTier)]

    def refuse(self) -> list[str]:
        entries, self.waiting = self.waiting, []
        return [entry.job_id for entry in entries if isinstance(entry, WriteAccepted)]

    def recovered(self) -> list[Recovered]:
        """The state that a new router recovers after this one has died."""
        self.waiting.clear()
        return [
            end_of(record, self.ended[job_id]) if job_id in self.ended else record
            for job_id, record in self.accepted.items()
        ]

    def load(self, digests: Sequence[bytes]) -> list[bytes]:
        """The contents of pictures; raises StorageFailure for a missing one."""
        if not self.pictures.keys() >= {*digests}:
            raise StorageFailure("a picture of the job is missing in the journal")
        return [self.pictures[digest] for digest in digests]

    def read(self, job_id: str) -> StoredResult | None:
        ended = self.ended.get(job_id)
        return None if ended is None else StoredResult(self.accepted[job_id].accepted, ended)
