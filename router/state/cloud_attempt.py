"""A job's handoff to a larger model: the gate that it failed, the decision, and the cloud's answer so far."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from cactus_actors.protocol.error_info import ErrorInfo
from cactus_actors.protocol.handoff_gates import Gate
from cactus_actors.protocol.results import HandoffStatus
from cactus_actors.protocol.worker_messages import Finish
from cactus_actors.router.state.token_log import TokenLog


@dataclass(frozen=True, slots=True)
class GateFailure:
    """The gate where the confidence signal, or the value of the prompt, was below the threshold, and that value."""

    gate: Gate
    confidence: float


@dataclass(frozen=True, slots=True)
class HandoffDecision:
    """The outcome of a failed gate, and its reason."""

    status: HandoffStatus
    reason: str
    provider: str | None = None
    latency_ms: float | None = None


class HandoffState(msgspec.Struct, eq=False, gc=False):
    """The gate that a job failed first, and the decision about its handoff."""

    gate_failure: GateFailure | None = None
    decision: HandoffDecision | None = None


@dataclass(slots=True, eq=False)
class CloudAttempt:
    """The handoff of a job to a cloud worker; `dispatch_id` is None while it waits for a slot there.

    The stream is the cloud's from its first chunk on (`log` is not empty), unless the handoff `failed` before a client
    saw a part. If the cloud's answer `broke` off after a client saw a part, the job ends with that error and the
    complete local answer. `finish` is the cloud worker's finish.
    """

    requested_at: float
    dispatch_id: int | None = None
    log: TokenLog = field(default_factory=TokenLog)
    finish: Finish | None = None
    failed: bool = False
    broke: ErrorInfo | None = None
