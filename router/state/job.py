"""One accepted job, from its acceptance to its end."""

from __future__ import annotations

from dataclasses import dataclass, field

from cactus_actors.protocol.error_info import ErrorInfo
from cactus_actors.protocol.key_grants import DEFAULT_GRANTS, KeyGrants
from cactus_actors.protocol.messages import Accepted, JobState
from cactus_actors.protocol.results import FinishReason
from cactus_actors.protocol.wire import Encoding
from cactus_actors.router.state.cloud_attempt import CloudAttempt, GateFailure, HandoffDecision
from cactus_actors.router.state.job_cost import cost_of
from cactus_actors.router.state.prepared_request import PreparedRequest
from cactus_actors.router.state.reservation import Reservation
from cactus_actors.router.state.token_log import TokenLog

MAX_ATTACHED = 64
SUSPECT_AFTER = 2


@dataclass(frozen=True, slots=True)
class JobEnding:
    """How a job, or one source of its tokens, ended; an `error` goes with the reason `error`."""

    reason: FinishReason
    stop_match: str | int | None = None
    error: ErrorInfo | None = None


@dataclass(slots=True, eq=False)
class Job:
    """The record of a job that has not ended.

    A stream that is `stream_released` may be shown to clients; it becomes `is_seen` when an item of it was
    sent, and from then on it only grows. `num_published` items were published, or passed over without a
    subscriber. `local_ending` is kept while an answer of the cloud is awaited. A job that is not `is_admitted`
    waits for the journal: its clients know nothing of it, and it is in no queue. `mirostat_mu` is the
    sampler's state after the last token, from which another worker continues. The id of an `is_keyed` job
    follows from an idempotency key. `has_progress_scheduled` says that subscribers are told the length of the
    stream while it is quiet. An `is_contended` job was sent to a worker when no other slot was left. An
    `is_gated` job may be handed off for its confidence.
    """

    job_id: str
    digest: bytes
    encoding: Encoding
    prepared: PreparedRequest
    arrived_at: float
    arrival_index: int
    accepted: Accepted
    stream_released: bool
    reservation: Reservation
    attached: dict[bytes, Encoding] = field(default_factory=dict)
    local: TokenLog = field(default_factory=TokenLog)
    cloud: CloudAttempt | None = None
    dispatch_id: int | None = None
    local_ending: JobEnding | None = None
    attempts: int = 0
    lost_workers: list[str] = field(default_factory=list)
    num_broken_links: int = 0
    is_retry: bool = False
    virtual_start: float = 0.0
    dispatched_at: float | None = None
    mirostat_mu: float | None = None
    embedding: list[float] | None = None
    embedding_length: float | None = None
    cached_tokens: int = 0
    worker: str = ""
    is_admitted: bool = False
    is_seen: bool = False
    num_published: int = 0
    last_published_at: float = 0.0
    has_progress_scheduled: bool = False
    gate_failure: GateFailure | None = None
    handoff_decision: HandoffDecision | None = None
    tenant: str = ""
    traceparent: str | None = None
    account: str = ""
    grants: KeyGrants = DEFAULT_GRANTS
    is_keyed: bool = False
    is_contended: bool = False
    is_gated: bool = field(init=False)

    def __post_init__(self) -> None:
        self.is_gated = self.prepared.policy.cloud_handoff_threshold > 0

    @property
    def state(self) -> JobState:
        return "queued" if self.is_waiting else "running"

    @property
    def is_waiting(self) -> bool:
        """Whether it is in the waiting queue: it has no local worker and its local run has not ended."""
        return self.dispatch_id is None and self.local_ending is None

    @property
    def is_background(self) -> bool:
        """Whether nobody waits for it: any priority below the usual one says so."""
        return self.reservation.is_background

    @property
    def is_preemptible(self) -> bool:
        """Whether it may be taken from its worker and go on later; what a cloud works on is left alone."""
        return self.cloud is None

    @property
    def user(self) -> str:
        return self.reservation.user

    @property
    def is_suspect(self) -> bool:
        """Whether so many different workers were lost while they ran it that it may be the reason."""
        return len(set(self.lost_workers)) >= SUSPECT_AFTER

    @property
    def deadline(self) -> float | None:
        timeout_s = self.prepared.policy.timeout_s
        return None if timeout_s is None else self.arrived_at + timeout_s

    @property
    def stream(self) -> TokenLog:
        """The log that clients see."""
        cloud = self.cloud
        return cloud.log if cloud is not None and not cloud.failed and len(cloud.log) else self.local

    @property
    def length(self) -> int:
        """How many items clients may see now."""
        return len(self.stream) if self.stream_released else 0

    @property
    def awaits_cloud(self) -> bool:
        """Whether an answer of the cloud is still awaited."""
        return self.cloud is not None and not self.cloud.failed and self.cloud.broke is None

    @property
    def cost(self) -> float:
        """What its run may cost, in generated tokens."""
        return cost_of(len(self.prepared.prompt_ids), self.prepared.params.max_tokens)

    @property
    def num_tokens_to_compute(self) -> int:
        return len(self.prepared.prompt_ids) + len(self.local)

    def attach(self, identity: bytes, encoding: Encoding) -> None:
        """Send Finished to this client too."""
        attach(self.attached, identity, encoding)


@dataclass(frozen=True, slots=True)
class EndedJob:
    """What is known of a job after its end; its result lies in the `ResultStore` or in the journal."""

    digest: bytes
    state: JobState
    length: int
    ended_at: float
    tenant: str
    is_keyed: bool


def attach(clients: dict[bytes, Encoding], identity: bytes, encoding: Encoding) -> None:
    """Have one more client answered in its encoding; the oldest is let go beyond MAX_ATTACHED."""
    clients.pop(identity, None)
    if len(clients) >= MAX_ATTACHED:
        del clients[next(iter(clients))]
    clients[identity] = encoding


def share_owner(account: str, tenant: str, named: str | None) -> str:
    """Who gets a share of the service; a name that a client chose divides no other tenant's."""
    return account or tenant or named or ""
