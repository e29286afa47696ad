"""The service's status as metrics.

Names and types are those of vLLM (its design document of metrics) for equal metrics, under another prefix. Labels
have few values: fixed words, and the names of connected workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import get_args

from prometheus_client.metrics_core import InfoMetricFamily, Metric

from cactus_actors.gateway.metrics.metric_families import by_name, counter, gauge, histogram
from cactus_actors.protocol.messages import Status
from cactus_actors.protocol.service_status import ModelState, WorkerStatus
from cactus_actors.protocol.totals import AuditCounts, BreakerState, Distribution, ModelTotals, Totals

_REFUSALS = (
    "handshake",
    "unknown_key",
    "wrong_role",
    "foreign_topic",
    "too_many_subscriptions",
    "flood",
    "silent",
    "unfinished",
    "large_messages",
    "foreign_worker",
)
_OF_WORKERS: Sequence[tuple[str, Callable[[WorkerStatus], float], str]] = (
    ("worker_running", lambda worker: worker.num_running, "Sequences that run."),
    ("worker_slots", lambda worker: worker.num_slots, "Sequences that can run at once."),
    ("worker_free_slots", lambda worker: worker.free_slots, "Slots that the router may still fill."),
    ("worker_slots_in_use", lambda worker: worker.num_slots - worker.free_slots, "Slots that are in use."),
    ("worker_blocks", lambda worker: worker.num_blocks, "Blocks of the KV cache, of 16 tokens each."),
    ("worker_free_blocks", lambda worker: worker.free_blocks, "Blocks that the router may still fill."),
    ("worker_blocks_in_use", lambda worker: worker.num_blocks - worker.free_blocks, "Blocks that are in use."),
    ("worker_last_seen_seconds", lambda worker: worker.last_seen_s, "Seconds since the worker's last message."),
    (
        "worker_resident_memory_bytes",
        lambda worker: worker.ram_usage_mb * 2**20,
        "Resident memory of the worker's process.",
    ),
    ("worker_block_bytes", lambda worker: worker.block_bytes, "Memory of a block."),
    (
        "worker_states",
        lambda worker: worker.num_states,
        "Recurrent states that fit the cache, where the model has them.",
    ),
    ("worker_state_bytes", lambda worker: worker.state_bytes, "Memory of a recurrent state."),
    ("worker_cache_bytes", lambda worker: worker.cache_bytes, "Memory of the blocks and recurrent states, when used."),
)
_TOTALS_OF_WORKERS: Sequence[tuple[str, Callable[[WorkerStatus], float], str]] = (
    ("worker_generation_tokens", lambda worker: worker.tokens_generated, "Tokens generated."),
    ("worker_prompt_tokens", lambda worker: worker.prompt_tokens_computed, "Prompt tokens computed."),
    ("worker_step_seconds", lambda worker: worker.step_seconds, "Seconds spent in steps."),
    (
        "worker_kernel_seconds",
        lambda worker: worker.kernel_seconds,
        "Part of the step seconds that compiled code took.",
    ),
    (
        "prefix_cache_queries",
        lambda worker: worker.queried_prompt_tokens,
        "Prompt tokens looked up in the prefix cache.",
    ),
    ("prefix_cache_hits", lambda worker: worker.cached_prompt_tokens, "Prompt tokens found in the prefix cache."),
    ("num_preemptions", lambda worker: worker.preemptions, "Sequences that a worker preempted."),
    ("spec_decode_num_draft_tokens", lambda worker: worker.draft_tokens, "Draft tokens of speculative decoding."),
    (
        "spec_decode_num_accepted_tokens",
        lambda worker: worker.accepted_draft_tokens,
        "Draft tokens that were accepted.",
    ),
    ("worker_encoded_pictures", lambda worker: worker.encoded_pictures, "Pictures encoded."),
    (
        "worker_cached_pictures",
        lambda worker: worker.cached_pictures,
        "Pictures of requests that had been encoded for earlier ones.",
    ),
)
_HISTOGRAMS: Sequence[tuple[str, Callable[[ModelTotals], Distribution], str]] = (
    (
        "time_to_first_token_seconds",
        lambda totals: totals.first_token_seconds,
        "Seconds from a job's arrival to the first token of its answer.",
    ),
    ("inter_token_latency_seconds", lambda totals: totals.inter_token_seconds, "Seconds between tokens of a job."),
    ("e2e_request_latency_seconds", lambda totals: totals.job_seconds, "Seconds from a job's arrival to its end."),
    (
        "request_queue_time_seconds",
        lambda totals: totals.queue_seconds,
        "Seconds from a job's arrival to its first dispatch.",
    ),
    (
        "request_prefill_time_seconds",
        lambda totals: totals.prefill_seconds,
        "Seconds from a job's first dispatch to its first token.",
    ),
    (
        "request_decode_time_seconds",
        lambda totals: totals.decode_seconds,
        "Seconds from the first token of a job's answer to the last.",
    ),
    ("request_prompt_tokens", lambda totals: totals.prompt_tokens, "Tokens of a prompt."),
    ("request_generation_tokens", lambda totals: totals.completion_tokens, "Tokens of an answer."),
    ("request_params_max_tokens", lambda totals: totals.max_tokens, "The `max_tokens` of a job."),
)
_OF_AUDITS: Sequence[tuple[str, Callable[[AuditCounts], float], str]] = (
    ("audits_unjudged", lambda audits: audits.unjudged, "Audited answers that wait for a person."),
    ("audits_monitored", lambda audits: audits.monitored, "Judged audits at the present threshold."),
    ("audits_monitored_wrong", lambda audits: audits.monitored_wrong, "Those of them that are wrong."),
    ("audit_evidence", lambda audits: audits.evidence, "Evidence of a drift past the bound; 1 is none."),
    ("audit_drift", lambda audits: audits.has_drifted, "1 after a drift past the bound, until audits begin anew."),
    ("audit_steps", lambda audits: audits.step, "Steps by which audits have tightened the threshold."),
    ("audit_min_threshold", lambda audits: audits.min_threshold, "Threshold that audits require at least."),
)


def families_of(status: Status | None) -> Iterator[Metric]:
    """The families of metrics; without a status only `cactus_up` 0."""
    yield gauge("up", "1 if the service answers, else 0.", status is not None)
    if status is None:
        return
    yield from _of_service(status)
    yield from _of_jobs(status)
    yield from _of_workers(status.workers)
    if status.totals is not None:
        yield from _of_models(status, status.totals)
        yield from _of_totals(status.totals)


def _of_service(status: Status) -> Iterator[Metric]:
    info = {"version": status.version, "model": status.model}
    yield InfoMetricFamily("cactus", "The service and its model.", info)
    yield gauge("uptime_seconds", "Seconds since the router started.", status.uptime_s)
    yield gauge("router_start_time_seconds", "Unix time at which the router started.", status.epoch / 1000)
    yield gauge("draining", "1 while the service drains and refuses new jobs.", status.draining)
    yield gauge("workers_desired", "Desired number of local workers.", status.desired_workers)
    yield gauge("storage_writable", "1 if the journal can be written, else 0.", not status.storage_error)
    held = status.held
    yield gauge("arrivals", "Requests that are being tokenised and checked.", held.arrivals)
    yield gauge("live_jobs", "Jobs that have not ended.", held.live_jobs)
    yield gauge("live_dispatches", "Runs of jobs at workers, those on their way included.", held.dispatches)
    yield gauge("subscribed_jobs", "Jobs with a subscriber.", held.topics)
    yield gauge("waiting_prompt_tokens", "Prompt tokens of waiting requests.", held.waiting_tokens)
    yield gauge("waiting_bytes", "Memory of waiting requests.", held.waiting_bytes)
    yield gauge("ended_jobs", "Ended jobs that can still be read.", held.ended_jobs)
    yield gauge("oldest_waiting_seconds", "Age of the oldest waiting job.", held.oldest_waiting_s)
    yield gauge("result_bytes", "Memory of results that can still be read, without those on disk.", held.result_bytes)
    yield gauge("picture_bytes", "Size of the pictures in the journal.", held.picture_bytes)
    refused = dict.fromkeys(_REFUSALS, 0) | status.refused
    yield counter("access_refused", "Forbidden actions of connections.", by_name(refused), "reason")


def _of_jobs(status: Status) -> Iterator[Metric]:
    jobs = status.jobs
    yield gauge("jobs", "Jobs by state.", by_name({"queued": jobs.queued, "running": jobs.running}), "state")
    for name in ("accepted", "finished", "failed", "cancelled"):
        yield counter(f"jobs_{name}", f"Jobs {name}.", getattr(jobs, name))
    yield counter("jobs_rejected", "Refused requests, of all types together.", jobs.rejected)
    yield counter("jobs_redispatched", "Jobs queued again after a dispatch that ended early.", jobs.redispatched)
    outcomes = {
        "recommended": jobs.handoffs_recommended,
        "completed": jobs.handoffs_completed,
        "failed": jobs.handoffs_failed,
        "suppressed": jobs.handoffs_suppressed,
    }
    yield counter("handoffs", "Ended jobs that failed a gate, by `handoff.status`.", by_name(outcomes), "outcome")
    running, waiting = {status.model: jobs.running}, {status.model: jobs.queued + status.held.arrivals}
    if status.models:
        running, waiting = ({it.name: getattr(it, state) for it in status.models} for state in ("running", "waiting"))
    for state, numbers in (("running", running), ("waiting", waiting)):
        yield gauge(f"num_requests_{state}", f"Jobs {state}.", by_name(numbers), "model_name")
    handed_on = by_name({it.name: it.handed_on for it in status.models})
    yield counter("model_handed_on", "Jobs handed on to the next tier of a cascade.", handed_on, "model_name")
    desired = {it.name: it.desired_workers for it in status.models} or {status.model: status.desired_workers}
    yield gauge("model_workers_desired", "Desired number of workers of the model.", by_name(desired), "model_name")
    yield from _of_scaling(status)
    states = [((name, it), float(it == state)) for name, state in status.states.items() for it in get_args(ModelState)]
    yield gauge("model_state", "1 for the state of the model, 0 for the others.", states, "model_name", "state")


def _of_scaling(status: Status) -> Iterator[Metric]:
    """The metrics of models whose number of workers follows the load."""
    of_models = {it.name: it.scaling for it in status.models} or {status.model: status.scaling}
    scaling = {name: it for name, it in of_models.items() if it is not None}
    least, most = ({name: getattr(it, f"{end}_workers") for name, it in scaling.items()} for end in ("min", "max"))
    fixed = {name: float(it.is_fixed) for name, it in scaling.items()}
    changes = [((name, way), count) for name, it in scaling.items() for way, count in it.changes.items()]
    yield gauge("model_workers_min", "Least workers that the load may ask for.", by_name(least), "model_name")
    yield gauge("model_workers_max", "Most workers that the load may ask for.", by_name(most), "model_name")
    yield gauge("model_workers_fixed", "1 after `cactus scale N`, until `auto`.", by_name(fixed), "model_name")
    yield counter("model_workers_changes", "Changes that the load asked for.", changes, "model_name", "direction")


def _of_workers(workers: Sequence[WorkerStatus]) -> Iterator[Metric]:
    states = [(worker.kind, worker.state) for worker in workers]
    counts = {
        (kind, state): states.count((kind, state)) for kind in ("local", "cloud") for state in ("ready", "draining")
    }
    yield gauge("workers", "Connected workers; the handoff actor is of kind `cloud`.", counts.items(), "kind", "state")
    for name, value, meaning in _OF_WORKERS:
        yield gauge(name, meaning, _of_each(workers, value), "worker", "kind")
    for name, value, meaning in _TOTALS_OF_WORKERS:
        yield counter(name, meaning, _of_each(workers, value), "worker", "kind")
    usage = {worker.worker_id: 1 - worker.free_blocks / worker.num_blocks for worker in workers if worker.num_blocks}
    yield gauge("kv_cache_usage_perc", "Share of the blocks that are in use, 0 to 1.", by_name(usage), "worker")
    for name, unit in (("requests", "Requests"), ("tokens", "Prompt and completion tokens")):
        samples = _spent(workers, name)
        yield gauge(f"cloud_spent_{name}", f"{unit} of the cloud in the period.", samples, "worker", "period")
    money = [
        ((worker.worker_id, row.period, row.currency), row.cost)
        for worker in workers
        for row in worker.spent
        if row.tenant is None
    ]
    yield gauge(
        "cloud_spent_cost", "Cost of requests to the cloud in the period.", money, "worker", "period", "currency"
    )
    breakers = {
        (worker.worker_id, state): worker.breaker == state
        for worker in workers
        if worker.breaker is not None
        for state in get_args(BreakerState)
    }
    yield gauge(
        "cloud_breaker_state",
        "1 for the current state of the circuit breaker, else 0.",
        breakers.items(),
        "worker",
        "state",
    )
    yield from _of_audits([worker for worker in workers if worker.audits is not None])
    unavailable = {worker.worker_id: worker.unavailable is not None for worker in workers}
    yield gauge("worker_unavailable", "1 if the worker takes no jobs at the moment.", by_name(unavailable), "worker")


def _of_audits(workers: Sequence[WorkerStatus]) -> Iterator[Metric]:
    """The metrics of audits; the label `tier` is the model of a cascade, and empty for jobs outside of one."""
    totals = {worker.worker_id: worker.audits for worker in workers if worker.audits is not None}
    audits = {(name, tier): one for name, all_tiers in totals.items() for tier, one in all_tiers.by_tier.items()}
    outcomes = [((*of, outcome), count) for of, one in audits.items() for outcome, count in one.outcomes.items()]
    meaning = "Answers that stayed and were compared with the cloud's, by outcome."
    yield counter("audits", meaning, outcomes, "worker", "tier", "outcome")
    for metric, value, meaning in _OF_AUDITS:
        yield gauge(metric, meaning, [(of, value(one)) for of, one in audits.items()], "worker", "tier")
    drifts = [(of, one.drifts) for of, one in audits.items()]
    yield counter("audit_drifts", "Drifts past the bound that audits showed.", drifts, "worker", "tier")
    for kind, unit in (("requests", "Requests"), ("tokens", "Prompt and completion tokens"), ("cost", "Cost")):
        samples = [((name, row.period), getattr(row, kind)) for name, one in totals.items() for row in one.spent]
        yield gauge(f"audit_spent_{kind}", f"{unit} of audits in the period.", samples, "worker", "period")


def _of_models(status: Status, totals: Totals) -> Iterator[Metric]:
    """The metrics with a label for the model."""
    models: dict[str, ModelTotals] = {it.name: it.totals for it in status.models if it.totals is not None}
    models = models or {status.model: totals}
    for name, value, meaning in _HISTOGRAMS:
        yield histogram(name, meaning, {model: value(its) for model, its in models.items()}, "model_name")
    ended = [((model, reason), count) for model, its in models.items() for reason, count in its.ended.items()]
    yield counter(
        "request_success",
        "Ended jobs by finish reason, `error` and `cancelled` included.",
        ended,
        "model_name",
        "finished_reason",
    )
    prompts = {model: its.prompt_tokens_done for model, its in models.items()}
    generated = {model: its.generated_tokens for model, its in models.items()}
    yield counter("prompt_tokens", "Prompt tokens of ended jobs that a worker ran.", by_name(prompts), "model_name")
    yield counter("generation_tokens", "Tokens generated by local workers.", by_name(generated), "model_name")


def _of_totals(totals: Totals) -> Iterator[Metric]:
    yield counter("job_attempts", "Dispatches that ended.", by_name(totals.attempts), "outcome")
    yield counter("cloud_requests", "Jobs given to the cloud.", by_name(totals.cloud_attempts), "outcome")
    yield counter("handoff_gates_failed", "Jobs by the first gate they failed.", by_name(totals.failed_gates), "gate")
    yield counter("worker_losses", "Workers that were lost.", by_name(totals.lost_workers), "reason")
    yield counter("worker_farewells", "Workers that drained and left.", totals.farewells)
    yield counter("requests_rejected", "Refused requests, by type of error.", by_name(totals.rejected), "type")
    yield counter("zmq_rejected_frames", "Frames that were not a message.", by_name(totals.bad_frames), "reason")
    yield counter("late_deltas_dropped", "Deltas of dispatches that were no longer valid.", totals.late_deltas)
    yield counter("late_tokens_dropped", "Tokens of dispatches that were no longer valid.", totals.late_tokens)
    yield counter("stream_resumes", "Requests to resume a stream.", totals.resumes)
    yield counter("stream_replayed", "Stream items sent in answer to resumes.", totals.replayed_items)
    yield counter("stream_gaps", "Requests to resume that asked for items published before.", totals.stream_gaps)
    yield counter("edge_losses", "Edge processes that ended.", totals.lost_edges)


def _of_each(
    workers: Sequence[WorkerStatus], value: Callable[[WorkerStatus], float]
) -> list[tuple[tuple[str, str], float]]:
    return [((worker.worker_id, worker.kind), value(worker)) for worker in workers]


def _spent(workers: Sequence[WorkerStatus], field: str) -> list[tuple[tuple[str, ...], float]]:
    """The spending of all tenants together: a label would reveal who they are."""
    return [
        ((worker.worker_id, row.period), getattr(row, field))
        for worker in workers
        for row in worker.spent
        if row.tenant is None
    ]
