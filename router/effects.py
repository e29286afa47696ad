"""Effects: the actions that the core requests from the actor, in order."""

from __future__ import annotations

import msgspec

from cactus_actors.protocol.errors import CactusError
from cactus_actors.protocol.messages import Rejected, RouterReply, StreamMessage
from cactus_actors.protocol.results import Source
from cactus_actors.protocol.wire import Encoding
from cactus_actors.protocol.worker_messages import RouterCommand
from cactus_actors.router.state.job_report import JobReport
from cactus_actors.router.state.journal_records import Entry


class SendClient(msgspec.Struct, frozen=True, gc=False):
    """Send on the job socket to the client of that connection identity."""

    identity: bytes
    message: RouterReply
    encoding: Encoding


class SendWorker(msgspec.Struct, frozen=True, gc=False):
    """Send on the worker socket to the worker of that connection identity."""

    identity: bytes
    message: RouterCommand


class Publish(msgspec.Struct, frozen=True, gc=False):
    """Publish on the stream socket under a job's topic."""

    topic: str
    message: StreamMessage
    encoding: Encoding


class SetJobOwner(msgspec.Struct, frozen=True, gc=False):
    """Let only that tenant subscribe to a job from now on; None lifts the restriction."""

    job_id: str
    tenant: str | None


class WriteJournal(msgspec.Struct, frozen=True, gc=False):
    """Write an entry to the journal."""

    entry: Entry


class PrepareRequest(msgspec.Struct, frozen=True, gc=False):
    """Have the request of a job prepared; answered by `on_prepared`.

    `content` is the request in msgpack, `frames` the pictures that came with it; those of a recovered job are `kept` in
    the journal under these digests. `sources` are the documents chosen for a recovered job, None for a new one. Users
    have their requests prepared in turn, and background work comes last. `model` is the name of the job's model, empty
    in a service of one.
    """

    job_id: str
    content: bytes
    sources: list[Source] | None = None
    user: str = ""
    is_background: bool = False
    frames: tuple[bytes, ...] = ()
    kept: tuple[bytes, ...] = ()
    tenant: str = ""
    model: str = ""


class ReportJob(msgspec.Struct, frozen=True, gc=False):
    """Report a job that ended to the observers; each job is reported once."""

    report: JobReport


class LogWarning(msgspec.Struct, frozen=True, gc=False):
    """Log a warning."""

    text: str


class LoadResult(msgspec.Struct, frozen=True, gc=False):
    """Read an ended job from the journal; answered by `on_result_loaded`."""

    job_id: str


Effect = (
    SendClient
    | SendWorker
    | Publish
    | SetJobOwner
    | WriteJournal
    | PrepareRequest
    | LoadResult
    | ReportJob
    | LogWarning
)


class Outbox:
    """Collects the effects of one event."""

    def __init__(self) -> None:
        self._effects: list[Effect] = []

    def add(self, effect: Effect) -> None:
        self._effects.append(effect)

    def reply(self, identity: bytes, message: RouterReply, encoding: Encoding) -> None:
        self._effects.append(SendClient(identity, message, encoding))

    def reject(
        self,
        identity: bytes,
        error: CactusError,
        encoding: Encoding,
        *,
        job_id: str | None = None,
        request_id: str | None = None,
    ) -> None:
        self.reply(identity, Rejected(error=error.info(), job_id=job_id, request_id=request_id), encoding)

    def command(self, identity: bytes, message: RouterCommand) -> None:
        self._effects.append(SendWorker(identity, message))

    def publish(self, topic: str, message: StreamMessage, encoding: Encoding) -> None:
        self._effects.append(Publish(topic, message, encoding))

    def own(self, job_id: str, tenant: str) -> None:
        """Record that a job belongs to a tenant; without keys there are no tenants."""
        if tenant:
            self._effects.append(SetJobOwner(job_id, tenant))

    def disown(self, job_id: str, tenant: str) -> None:
        """Record that a tenant's job has ended."""
        if tenant:
            self._effects.append(SetJobOwner(job_id, None))

    def drain(self) -> list[Effect]:
        """The effects so far, which are then no longer held here."""
        effects, self._effects = self._effects, []
        return effects
