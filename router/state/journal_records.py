"""The journal's records of jobs."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from cactus_actors.protocol.key_grants import DEFAULT_GRANTS, KeyGrants
from cactus_actors.protocol.messages import Accepted, Finished, JobState, Submit
from cactus_actors.protocol.results import Source
from cactus_actors.protocol.wire import Encoding
from cactus_actors.router.state.encoded_picture import EncodedPicture, PictureReference
from cactus_actors.router.state.ended_jobs import EndedJob


class JobTier(msgspec.Struct, frozen=True, array_like=True):
    """The model that a job of a cascade is at, and the threshold of its gates there: 0 if the answer stays."""

    model: str
    threshold: float


class AcceptedEntry(msgspec.Struct, frozen=True, array_like=True):
    """A job as it is written when it is accepted; `accepted_at` is Unix seconds.

    `submit` is the request in MessagePack as it was digested: without its trace context, its retention, and
    the seed that it was given, which are in `traceparent`, `is_keyed` and `accepted`. `sources` are the
    documents in its prompt, which may have changed since, as may the key's `grants`. The frames that it names are
    `pictures`. The `tier` of a job that is handed on is replaced.
    """

    submit: msgspec.Raw
    digest: bytes
    accepted: Accepted
    encoding: Encoding
    accepted_at: float
    tenant: str = ""
    sources: list[Source] = []
    grants: KeyGrants = DEFAULT_GRANTS
    traceparent: str | None = None
    is_keyed: bool = False
    pictures: list[PictureReference] = []
    tier: JobTier | None = None


class AcceptedRecord(msgspec.Struct, frozen=True, array_like=True):
    """An AcceptedEntry as it is read; earlier versions wrote all of `submit` in its place."""

    submit: Submit
    digest: bytes
    accepted: Accepted
    encoding: Encoding
    accepted_at: float
    tenant: str = ""
    sources: list[Source] = []
    grants: KeyGrants = DEFAULT_GRANTS
    traceparent: str | None = None
    is_keyed: bool = False
    pictures: list[PictureReference] = []
    tier: JobTier | None = None

    def completed(self) -> AcceptedRecord:
        """The record with everything that the job was accepted with in `submit`."""
        submit = self.submit
        options = msgspec.structs.replace(submit.options, seed=self.accepted.seed, random_seed=None)
        return msgspec.structs.replace(
            self,
            submit=msgspec.structs.replace(
                submit,
                options=options,
                traceparent=self.traceparent or submit.traceparent,
                keyed=self.is_keyed or submit.keyed,
            ),
        )


class EndedRecord(msgspec.Struct, frozen=True, array_like=True):
    """The end of a job, with its stream's text token by token; `ended_at` is Unix seconds.

    `reasonings` are as many as `texts`, or none for a job without any.
    """

    finished: Finished
    state: JobState
    token_ids: list[int]
    texts: list[str]
    tail: str
    ended_at: float
    reasonings: list[str] = []
    reasoning_tail: str = ""


class JournalProgress(msgspec.Struct, frozen=True, array_like=True):
    """The progress of the journal, written with every transaction, at Unix time `at`.

    `number` is the number of the transaction. `num_jobs` is the number of jobs in the journal after it. `oldest_at` is
    not later than the `accepted_at` of any of them. No job was written more than `max_delay_s` after its `accepted_at`.
    The last two are None in records of older versions.
    """

    number: int
    num_jobs: int
    at: float
    oldest_at: float | None = None
    max_delay_s: float | None = None


class WriteAccepted(msgspec.Struct, frozen=True, gc=False):
    """Keep a job, and those of its pictures that may not be on disk; it counts as accepted once this is on disk."""

    job_id: str
    record: AcceptedEntry
    pictures: tuple[EncodedPicture, ...] = ()
    is_background: bool = False


class WriteTier(msgspec.Struct, frozen=True, gc=False):
    """Keep the tier of a job; no item of its stream there is shown before this is on disk."""

    job_id: str
    tier: JobTier


class WriteEnded(msgspec.Struct, frozen=True, gc=False):
    """Keep a job's end; until it is on disk a restart runs the job again, to the same tokens."""

    job_id: str
    record: EndedRecord


class Forget(msgspec.Struct, frozen=True, gc=False):
    """Remove a job: its retention is over."""

    job_id: str


class ForgetPictures(msgspec.Struct, frozen=True, gc=False):
    """Remove the pictures of these digests: no job needs them."""

    digests: tuple[bytes, ...]


Entry = WriteAccepted | WriteTier | WriteEnded | Forget | ForgetPictures


@dataclass(frozen=True, slots=True)
class RecoveredEnd:
    """A job that ended under an earlier router, and its pictures in the journal; its `ended_at` is Unix seconds."""

    job_id: str
    ended: EndedJob
    pictures: tuple[PictureReference, ...] = ()


Recovered = AcceptedRecord | RecoveredEnd
"""A job that was known when the last router ended: still to be run, or ended."""


class StoredResult(msgspec.Struct, frozen=True, array_like=True):
    """The parts of an ended job that can be read."""

    accepted: Accepted
    ended: EndedRecord
