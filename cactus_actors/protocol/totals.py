"""The router's counts of jobs, workers and streams, for monitoring."""

from __future__ import annotations

from typing import Literal

import msgspec

from cactus_actors.protocol.handoff_gates import Gate
from cactus_actors.protocol.results import FinishReason

AttemptOutcome = Literal["completed", "failed", "lost", "returned", "cut", "broken", "yielded", "aborted"]
"""Outcome of a dispatch to a local worker: `lost` with its worker, `returned` by one that left, `cut` with the
connection of one that is alive, `broken` by missing tokens, `yielded` when preempted, `aborted` by the router
because the job had ended or the cloud answered."""

CloudOutcome = Literal["completed", "failed", "aborted"]
WorkerLoss = Literal["silent", "died", "unreachable", "reconnected"]
"""`silent` for too long, `died` as reported by its supervisor, `reconnected` is alive, without its dispatches."""

BreakerState = Literal["closed", "half_open", "open"]


class CloudSpending(msgspec.Struct, frozen=True, kw_only=True):
    """Cloud spending in one period of UTC, or in `all`; `tenant` is None for all together.

    `tokens` are of prompts and answers, `cost` is money in `currency`.
    """

    period: str
    tenant: str | None = None
    requests: int
    tokens: int
    cost: float
    currency: str


AuditOutcome = Literal["right", "wrong", "failed", "skipped"]
"""Outcome of an audit: judged `right` or `wrong`, `failed` without an answer of the second model, or `skipped`."""


class AuditCounts(msgspec.Struct, frozen=True, kw_only=True):
    """The audits of answers that stayed, since the state directory has a record of them.

    `outcomes` count all audits but the `unjudged` ones, which wait for a person. The monitor of the present threshold
    has had `monitored` judged audits, of them `monitored_wrong`, and its `evidence` against the bound; it `has_drifted`
    once that was enough. `drifts` counts how often that happened. Tightening has moved the threshold `step` times: it
    is at least `min_threshold`.
    """

    outcomes: dict[AuditOutcome, int] = {}
    unjudged: int = 0
    monitored: int = 0
    monitored_wrong: int = 0
    evidence: float = 1.0
    has_drifted: bool = False
    drifts: int = 0
    step: int = 0
    min_threshold: float = 0.0


class AuditTotals(AuditCounts, frozen=True, kw_only=True):
    """The audits of jobs outside of a cascade, and in `tiers` those of its models, by their names.

    `spent` is the spending of all audits.
    """

    spent: list[CloudSpending] = []
    tiers: dict[str, AuditCounts] = {}

    @property
    def by_tier(self) -> dict[str, AuditCounts]:
        """Those of jobs outside of a cascade, by the name "", and those of its models."""
        return {"": self, **self.tiers}


class Distribution(msgspec.Struct, frozen=True):
    """A histogram: `counts` of the values between consecutive `bounds` and above the last; `sum` of all."""

    bounds: tuple[float, ...]
    counts: tuple[int, ...]
    sum: float


class ModelTotals(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of the jobs of a model, or of all, since the router started, which only grow.

    Seconds, except those between tokens, and tokens are of ended jobs, as in `JobReport`. Tokens that arrive
    together share the time since the one before. `generated_tokens` are those of local workers,
    `prompt_tokens_done` the prompts of jobs that were dispatched.
    """

    queue_seconds: Distribution
    prefill_seconds: Distribution
    first_token_seconds: Distribution
    inter_token_seconds: Distribution
    decode_seconds: Distribution
    job_seconds: Distribution
    prompt_tokens: Distribution
    completion_tokens: Distribution
    max_tokens: Distribution
    prompt_tokens_done: int
    generated_tokens: int
    ended: dict[FinishReason, int]


class Totals(ModelTotals, frozen=True, kw_only=True):
    """Counts of the service since the router started, those of all its models together included.

    `rejected` are refused requests by type of error;
    `bad_frames` are frames that are not a message, by that type, or `worker_message` for those of a worker and `topic`
    for subscriptions. `late_deltas`, with `late_tokens`, were of void dispatches. `replayed_items` were sent in
    answer to `resumes`; `stream_gaps` of these requested items that had been published before. `lost_edges` are
    edge processes that ended. `failed_gates` are the first gates that jobs failed.
    """

    attempts: dict[AttemptOutcome, int]
    cloud_attempts: dict[CloudOutcome, int]
    lost_workers: dict[WorkerLoss, int]
    farewells: int
    rejected: dict[str, int]
    bad_frames: dict[str, int]
    late_deltas: int
    late_tokens: int
    resumes: int
    replayed_items: int
    stream_gaps: int
    lost_edges: int = 0
    failed_gates: dict[Gate, int] = {}


class TenantLoad(msgspec.Struct, frozen=True, kw_only=True):
    """The jobs of one owner of a share: an API key's account, a key's tenant, or a user's name; "" is all others."""

    name: str
    waiting: int
    running: int


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """Resources in use by the router; all 0 without requests, except for results that can still be read.

    Waiting requests, those in preparation included, have `waiting_tokens` in their prompts and take
    `waiting_bytes` of memory; the oldest in the queue arrived `oldest_waiting_s` seconds ago. `ended_jobs` can
    still be read; their results take `result_bytes` of memory, apart from those that are on disk. The pictures in the
    journal take `picture_bytes`. `tenants` are the owners with the most jobs: for operators, with totals.
    """

    arrivals: int = 0
    live_jobs: int = 0
    dispatches: int = 0
    topics: int = 0
    waiting_tokens: int = 0
    waiting_bytes: int = 0
    ended_jobs: int = 0
    result_bytes: int = 0
    oldest_waiting_s: float = 0.0
    picture_bytes: int = 0
    tenants: list[TenantLoad] = []
