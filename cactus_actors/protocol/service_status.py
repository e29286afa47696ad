"""The parts of a Status: workers, jobs, adapters and models."""

from __future__ import annotations

from typing import Literal

import msgspec

from cactus_actors.protocol.scaling_status import ScalingStatus
from cactus_actors.protocol.totals import AuditTotals, BreakerState, CloudSpending, ModelTotals

WorkerKind = Literal["local", "cloud"]
ModelState = Literal["ready", "starting", "idle", "waiting", "loading", "off"]
"""Of a model: a worker takes jobs; its workers start, or lost ones are replaced; it gave its workers up, and a job
loads it; its jobs wait for memory that busy models hold; a job has it loaded; it is scaled to 0."""


class WorkerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One worker as the router sees it; `last_seen_s` is seconds since its last message.

    `kernel_seconds` is the part of `step_seconds`, all time spent in steps, that compiled code took. `draft_tokens`
    were guessed ahead of the model, `accepted_draft_tokens` of them right. Of the tokens of prompts
    `queried_prompt_tokens` were looked up in the prefix cache, `cached_prompt_tokens` were found. `ram_usage_mb` is
    the resident memory of its process, `unavailable` the reason why it takes no jobs now, `breaker` the state of a
    cloud worker's breaker, `spent` its spending, `audits` those of answers that stayed. Its cache has `num_blocks`
    blocks of `block_bytes` bytes, and `num_states` recurrent states of `state_bytes` bytes, of running sequences and
    checkpoints. `model` is its model where there are several. It has encoded `encoded_pictures`; `cached_pictures` of
    requests were encoded before, for an earlier one. `node_id` is that of `node` in its cluster, empty on one machine.
    """

    worker_id: str
    kind: WorkerKind
    node: str
    pid: int
    threads: int
    kernels: str
    weights: str
    state: Literal["ready", "draining"]
    num_slots: int
    free_slots: int
    num_blocks: int
    free_blocks: int
    num_running: int
    last_seen_s: float
    tokens_generated: int
    prompt_tokens_computed: int
    cached_prompt_tokens: int
    preemptions: int
    step_seconds: float = 0.0
    kernel_seconds: float = 0.0
    draft_tokens: int = 0
    accepted_draft_tokens: int = 0
    queried_prompt_tokens: int = 0
    ram_usage_mb: float = 0.0
    unavailable: str | None = None
    breaker: BreakerState | None = None
    spent: list[CloudSpending] = []
    block_bytes: int = 0
    num_states: int = 0
    state_bytes: int = 0
    audits: AuditTotals | None = None
    model: str = ""
    encoded_pictures: int = 0
    cached_pictures: int = 0
    node_id: str = ""

    @property
    def cache_bytes(self) -> int:
        """Memory of the cache, once all of it has been written."""
        return self.num_blocks * self.block_bytes + self.num_states * self.state_bytes


class JobCounts(msgspec.Struct, frozen=True, kw_only=True):
    """accepted = queued + running + finished + failed + cancelled, always."""

    accepted: int = 0
    queued: int = 0
    running: int = 0
    finished: int = 0
    failed: int = 0
    cancelled: int = 0
    rejected: int = 0
    redispatched: int = 0
    handoffs_recommended: int = 0
    handoffs_completed: int = 0
    handoffs_failed: int = 0
    handoffs_suppressed: int = 0


class AdapterStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A LoRA adapter of the service, its files, and its `model` where there are several."""

    name: str
    path: str
    model: str = ""


class ModelStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One of several models: its names, its text side, and the desired number of its workers.

    `scaling` is None without a range. `formats` are those of weights and kernels that its workers have, or had before
    they left. `waiting` jobs are in its queue, `running` ones at its workers; `handed_on` ones went to the next tier of
    a cascade. `totals` are present if the request asked for them.
    """

    name: str
    aliases: list[str] = []
    max_context: int
    vocab_size: int
    fingerprint: str
    has_chat_template: bool
    desired_workers: int
    state: ModelState = "ready"
    scaling: ScalingStatus | None = None
    waiting: int
    running: int
    handed_on: int = 0
    totals: ModelTotals | None = None
    formats: list[str] = []
