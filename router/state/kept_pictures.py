"""The pictures in the journal: each once, within a bound on their bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from cactus_actors.protocol.errors import MediaTooLarge, Overloaded
from cactus_actors.router.state.encoded_picture import EncodedPicture, PictureReference

RETRY_S = 1.0
"""Seconds after which a request without room for its pictures may come again."""


@dataclass(slots=True, eq=False)
class _Kept:
    """A picture, the jobs that refer to it, and those of them that have not ended."""

    num_bytes: int
    is_written: bool = False
    jobs: set[str] = field(default_factory=set)
    live_jobs: set[str] = field(default_factory=set)


class KeptPictures:
    """Decides which pictures the journal holds; jobs refer to pictures by the digests of their contents.

    A picture stays as long as a job that has not ended refers to it. Pictures of ended jobs alone stay until these are
    forgotten, or until others need the room: the ones whose last job ended first go first.
    """

    def __init__(self, max_bytes: int) -> None:
        self.num_bytes = 0
        self._max_bytes = max_bytes
        self._pictures: dict[bytes, _Kept] = {}
        self._of_jobs: dict[str, dict[bytes, _Kept]] = {}
        self._idle: dict[bytes, _Kept] = {}
        """Those without a job that has not ended, in the order in which they became idle."""

    def __len__(self) -> int:
        return len(self._pictures)

    def add(self, job_id: str, references: Sequence[PictureReference]) -> list[bytes]:
        """Count the pictures of a new job; returns the digests of those that make room for them.

        Raises MediaTooLarge if they can never fit, and Overloaded if other jobs need the room now.
        """
        wanted = {reference.digest: reference.num_bytes for reference in references}
        if (num_bytes := sum(wanted.values())) > self._max_bytes:
            raise MediaTooLarge(f"the pictures have {num_bytes} bytes; the journal keeps {self._max_bytes} at most")
        excess = self.num_bytes - self._max_bytes
        excess += sum(size for digest, size in wanted.items() if digest not in self._pictures)
        dropped = []
        for digest, kept in self._idle.items():
            if excess <= 0:
                break
            if digest not in wanted:
                excess -= kept.num_bytes
                dropped.append(digest)
        if excess > 0:
            raise Overloaded(
                f"the pictures of accepted jobs take the {self._max_bytes} bytes that the journal keeps",
                retry_after=RETRY_S,
            )
        for digest in dropped:
            self._drop(digest)
        for digest, size in wanted.items():
            self._refer(job_id, digest, size, is_live=True)
        return dropped

    def restore(self, job_id: str, references: Iterable[PictureReference], *, is_live: bool) -> None:
        """Count the pictures that the journal holds for a job of an earlier router; all are taken."""
        for reference in references:
            self._refer(job_id, reference.digest, reference.num_bytes, is_live=is_live).is_written = True

    def unwritten(self, job_id: str, pictures: Sequence[EncodedPicture]) -> tuple[EncodedPicture, ...]:
        """Those of a job's pictures that are not on disk for sure, each once."""
        of_job = self._of_jobs.get(job_id, {})
        return tuple({one.digest: one for one in pictures if not of_job[one.digest].is_written}.values())

    def on_written(self, job_id: str) -> None:
        """Record that a job is on disk with its pictures."""
        for kept in self._of_jobs.get(job_id, {}).values():
            kept.is_written = True

    def on_ended(self, job_id: str) -> None:
        """Record that a job needs its pictures no more."""
        for digest, kept in self._of_jobs.get(job_id, {}).items():
            kept.live_jobs.discard(job_id)
            if not kept.live_jobs and self._pictures.get(digest) is kept:
                self._idle[digest] = kept

    def forget(self, job_id: str) -> list[bytes]:
        """Forget a job; returns the digests of the pictures that no other job refers to."""
        self.on_ended(job_id)
        dropped = []
        for digest, kept in self._of_jobs.pop(job_id, {}).items():
            kept.jobs.discard(job_id)
            if not kept.jobs and self._pictures.get(digest) is kept:
                self._drop(digest)
                dropped.append(digest)
        return dropped

    def _refer(self, job_id: str, digest: bytes, num_bytes: int, *, is_live: bool) -> _Kept:
        kept = self._pictures.get(digest)
        if kept is None:
            kept = self._pictures[digest] = _Kept(num_bytes)
            self.num_bytes += num_bytes
        kept.jobs.add(job_id)
        if is_live:
            kept.live_jobs.add(job_id)
        if kept.live_jobs:
            self._idle.pop(digest, None)
        else:
            self._idle[digest] = kept
        self._of_jobs.setdefault(job_id, {})[digest] = kept
        return kept

    def _drop(self, digest: bytes) -> None:
        self.num_bytes -= self._pictures.pop(digest).num_bytes
        self._idle.pop(digest, None)
