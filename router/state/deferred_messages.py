"""Client messages about a job that cannot be answered yet."""

from __future__ import annotations

import hashlib
import sys
from collections import Counter
from collections.abc import Collection, Hashable
from dataclasses import dataclass

import msgspec

from cactus_actors.protocol.errors import Overloaded
from cactus_actors.protocol.messages import ClientMessage
from cactus_actors.protocol.wire import Encoding
from cactus_actors.router.state.caller import Caller, requester_of


class DeferredMessage(msgspec.Struct, frozen=True):
    """A client's message and the frames that follow it, to be handled again when the job is ready for it."""

    identity: bytes
    message: ClientMessage
    encoding: Encoding
    caller: Caller
    frames: tuple[bytes, ...] = ()

    @property
    def requester(self) -> str:
        return requester_of(self.caller, self.identity)

    @property
    def fingerprint(self) -> Hashable:
        """Equal for messages that one connection repeats unchanged."""
        digest = hashlib.blake2b(msgspec.msgpack.encode(self.message), digest_size=16)
        for frame in self.frames:
            digest.update(frame)
        return self.identity, digest.digest()


@dataclass(frozen=True, slots=True)
class DeferralLimits:
    """Limits of waiting messages: in all, of one requester, about one job, and of one requester about one job."""

    in_all: int = sys.maxsize
    of_requester: int = sys.maxsize
    about_job: int = sys.maxsize
    of_requester_about_job: int = sys.maxsize


class DeferredMessages:
    """Deferred messages by job, in the order in which they came.

    `overload` is the text of the error beyond the limits. With `merges_repeats` a message that a connection
    repeats unchanged waits once.
    """

    def __init__(self, limits: DeferralLimits, overload: str, *, merges_repeats: bool) -> None:
        self._limits = limits
        self._overload = overload
        self._merges_repeats = merges_repeats
        self._by_job: dict[str, dict[Hashable, DeferredMessage]] = {}
        self._num_waiting = 0
        self._num_of_requester: Counter[str] = Counter()

    def __contains__(self, job_id: str) -> bool:
        return job_id in self._by_job

    def defer(self, job_id: str, message: DeferredMessage) -> bool:
        """Keep a message; True if its requester has no other one about this job. Raises Overloaded."""
        waiting, requester, limits = self._by_job.get(job_id, {}), message.requester, self._limits
        key = message.fingerprint if self._merges_repeats else object()
        if key in waiting:
            return False
        num_about_job = sum(it.requester == requester for it in waiting.values())
        if (
            self._num_waiting >= limits.in_all
            or self._num_of_requester[requester] >= limits.of_requester
            or len(waiting) >= limits.about_job
            or num_about_job >= limits.of_requester_about_job
        ):
            raise Overloaded(self._overload, retry_after=1.0)
        self._by_job.setdefault(job_id, waiting)[key] = message
        self._num_waiting += 1
        self._num_of_requester[requester] += 1
        return not num_about_job

    def take(self, job_id: str) -> list[DeferredMessage]:
        """Remove the messages about a job."""
        messages = list(self._by_job.pop(job_id, {}).values())
        for message in messages:
            self._forget(message)
        return messages

    def drop(self, identities: Collection[bytes]) -> None:
        """Remove the messages of these connections."""
        for job_id, waiting in list(self._by_job.items()):
            for key, message in list(waiting.items()):
                if message.identity in identities:
                    del waiting[key]
                    self._forget(message)
            if not waiting:
                del self._by_job[job_id]

    def _forget(self, message: DeferredMessage) -> None:
        requester = message.requester
        self._num_waiting -= 1
        self._num_of_requester[requester] -= 1
        if not self._num_of_requester[requester]:
            del self._num_of_requester[requester]
