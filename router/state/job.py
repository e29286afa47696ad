"""One accepted job, from its acceptance to its end."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from cactus_actors.protocol.messages import Accepted, JobState
from cactus_actors.protocol.prompt_probe import PromptProbe
from cactus_actors.protocol.results import HandoffTier
from cactus_actors.protocol.wire import Encoding
from cactus_actors.protocol.worker_messages import Audit
from cactus_actors.router.state.cloud_attempt import CloudAttempt, HandoffState
from cactus_actors.router.state.job_cost import cost_of
from cactus_actors.router.state.left_tier import LeftTier
from cactus_actors.router.state.local_run import Attempts, LocalAnswer
from cactus_actors.router.state.prepared_request import PreparedRequest, PreparedTier
from cactus_actors.router.state.submission import SubmittedRequest
from cactus_actors.router.state.token_log import TokenLog

MAX_ATTACHED = 64


class Publication(msgspec.Struct, eq=False, gc=False):
    """A stream may be shown to clients once it `is_released`; it `is_seen` once an item of it was sent.

    From then on it only grows. `num_items` items were published, or passed over without a subscriber.
    `has_progress_scheduled` says that subscribers are sent the length of the stream while it is quiet. With
    `num_unwritten` entries of the journal on their way to the disk, that does not know the job, or which model the
    stream comes from.
    """

    encoding: Encoding
    is_released: bool
    is_seen: bool = False
    num_items: int = 0
    last_at: float = 0.0
    has_progress_scheduled: bool = False
    num_unwritten: int = 0

    @property
    def is_open(self) -> bool:
        """True if items may be shown now."""
        return self.is_released and not self.num_unwritten

    def restart(self, *, is_released: bool) -> None:
        """Publish from the first item on: the stream has another source now, and no client has seen a part of it."""
        self.is_released = is_released
        self.num_items = 0


@dataclass(slots=True, eq=False)
class Job(SubmittedRequest):
    """The record of a job that has not ended.

    The clients in `attached` are sent its end. `arrival_index` counts jobs; `virtual_start` is its user's turn in
    the queue. A job that is not `is_accepted` waits for the journal: its clients know nothing of it, and it is in no
    queue, unless it `is_admitted`: then it runs ahead of the journal. An `is_gated` job may be handed off if its
    confidence is below its `threshold`, which was tightened `threshold_step` times. The `prompt_probe` judges the
    prompt of a job that has a gate there. `tiers` are the models of a cascade that are to come, `passed` those that
    were not sure or failed, `left` the answers of those that were not sure; the present one has it since
    `tier_began_at`. The answer to a job with an `audit` completes that, and nothing else becomes of it.
    """

    prepared: PreparedRequest
    accepted: Accepted
    arrival_index: int
    local: LocalAnswer
    attached: dict[bytes, Encoding]
    attempts: Attempts = field(default_factory=Attempts, init=False)
    publication: Publication = field(init=False)
    handoff: HandoffState = field(default_factory=HandoffState, init=False)
    cloud: CloudAttempt | None = field(default=None, init=False)
    virtual_start: float = field(default=0.0, init=False)
    is_admitted: bool = field(default=False, init=False)
    is_accepted: bool = field(default=False, init=False)
    is_gated: bool = field(init=False)
    threshold: float = field(init=False)
    threshold_step: int = field(default=0, init=False)
    prompt_probe: PromptProbe | None = field(default=None, init=False)
    tiers: list[PreparedTier] = field(default_factory=list, init=False)
    passed: list[HandoffTier] = field(default_factory=list, init=False)
    left: list[LeftTier] = field(default_factory=list, init=False)
    tier_began_at: float = field(init=False)
    audit: Audit | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.tier_began_at = self.submission.arrived_at
        self.threshold = self.prepared.policy.cloud_handoff_threshold
        self.is_gated = self.threshold > 0
        self.publication = Publication(self.submission.encoding, not self._is_held_back)

    def begin_at(self, threshold: float) -> None:
        """Set the threshold of its first model, before it runs."""
        self.threshold, self.is_gated = threshold, threshold > 0
        self.publication.is_released = not self._is_held_back

    def begin_tier(self, tier: PreparedTier, answer: LocalAnswer, work: float, now: float) -> None:
        """Begin anew with another model, before any item of the stream was shown.

        A job that may have crashed its workers is a suspect at this model, too.
        """
        self._change_model(tier.model, tier.prepared, answer, now)
        self.reservation = msgspec.structs.replace(self.reservation, work=work)
        self.attempts.is_retry = False
        if not self.attempts.is_suspect:
            self.attempts.lost_workers = []
        self.handoff = HandoffState()
        self.threshold = tier.prepared.policy.cloud_handoff_threshold
        self.is_gated = self.threshold > 0
        self.publication.restart(is_released=not self._is_held_back)

    def return_to(self, tier: LeftTier, now: float) -> None:
        """Continue the answer of a model that it has left, which stays whatever its confidence."""
        self._change_model(tier.model, tier.prepared, tier.answer, now)
        self.handoff.gate_failure, self.threshold = tier.gate_failure, tier.threshold
        self.virtual_start = tier.virtual_start
        self.is_gated, self.prompt_probe = False, None
        self.publication.restart(is_released=True)

    def _change_model(self, model: str, prepared: PreparedRequest, answer: LocalAnswer, now: float) -> None:
        self.submission = msgspec.structs.replace(self.submission, model=model)
        self.prepared, self.local, self.tier_began_at = prepared, answer, now

    @property
    def may_be_handed_off(self) -> bool:
        """True if there is another model for it: a later one of its cascade, or the cloud."""
        return bool(self.tiers) or self.prepared.policy.allow_cloud

    @property
    def tier(self) -> str:
        """The model that has it, in a cascade; else ""."""
        return self.submission.model if self.submission.is_cascade else ""

    @property
    def _is_held_back(self) -> bool:
        return self.is_gated and self.may_be_handed_off

    @property
    def state(self) -> JobState:
        return "queued" if self.is_waiting else "running"

    @property
    def is_waiting(self) -> bool:
        """True in the waiting queue: it has no local worker and its local run has not ended."""
        return self.attempts.dispatch_id is None and self.local.ending is None

    @property
    def is_background(self) -> bool:
        """True if no client waits for it (priority above 0)."""
        return self.reservation.is_background

    @property
    def is_preemptible(self) -> bool:
        """True if it may be taken from its worker and continue later; a job at a cloud may not."""
        return self.cloud is None

    @property
    def deadline(self) -> float | None:
        timeout_s = self.prepared.policy.timeout_s
        return None if timeout_s is None else self.submission.arrived_at + timeout_s

    @property
    def stream(self) -> TokenLog:
        """The log that clients see."""
        cloud = self.cloud
        return cloud.log if cloud is not None and not cloud.failed and len(cloud.log) else self.local.log

    @property
    def length(self) -> int:
        """The number of items that clients may see now."""
        return len(self.stream) if self.publication.is_open else 0

    @property
    def max_tokens(self) -> int:
        """The most tokens of its answer, by any model that may give it."""
        prepared = (self.prepared, *(tier.prepared for tier in self.tiers))
        return max(it.params.max_tokens for it in prepared)

    @property
    def awaits_cloud(self) -> bool:
        """True if an answer of the cloud is still awaited."""
        return self.cloud is not None and not self.cloud.failed and self.cloud.broke is None

    @property
    def cost(self) -> float:
        """The most that its run may cost, in generated tokens."""
        return cost_of(len(self.prepared.prompt_ids), self.prepared.params.max_tokens)

    @property
    def num_tokens_to_compute(self) -> int:
        return len(self.prepared.prompt_ids) + len(self.local.log)


def attach(clients: dict[bytes, Encoding], identity: bytes, encoding: Encoding) -> None:
    """Add a client that waits for the end, with its encoding; beyond MAX_ATTACHED the oldest is dropped."""
    clients.pop(identity, None)
    if len(clients) >= MAX_ATTACHED:
        del clients[next(iter(clients))]
    clients[identity] = encoding


def share_owner(account: str, tenant: str, named: str | None) -> str:
    """The owner of a share of the service; user names split only their own tenant's share."""
    return account or tenant or named or ""
