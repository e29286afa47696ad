"""The page of `cactus status`: the service and its workers, fitted to the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from cactus_actors.cli.status_rates import changes_of, latencies_of
from cactus_actors.cli.terminal import counted, natural_order

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.table import Table

    from cactus_actors.process.leaving_node import LeavingNodeStatus
    from cactus_actors.protocol.messages import Status
    from cactus_actors.protocol.scaling_status import ScalingStatus
    from cactus_actors.protocol.service_status import WorkerStatus
    from cactus_actors.protocol.totals import AuditCounts

_GAP = 2
_LEFT: dict[str, Callable[[WorkerStatus], str]] = {
    "worker": lambda worker: worker.worker_id,
    "kind": lambda worker: worker.kind,
    "node": lambda worker: worker.node,
    "pid": lambda worker: str(worker.pid),
    "weights": lambda worker: worker.weights,
    "kernels": lambda worker: worker.kernels and f"{worker.kernels} x{worker.threads}",
    "state": lambda worker: worker.unavailable if worker.unavailable and worker.state == "ready" else worker.state,
}
_RIGHT: dict[str, Callable[[WorkerStatus], str]] = {
    "running": lambda worker: str(worker.num_running),
    "slots": lambda worker: f"{worker.free_slots}/{worker.num_slots}",
    "blocks": lambda worker: f"{worker.free_blocks}/{worker.num_blocks}",
    "tokens": lambda worker: str(worker.tokens_generated),
    "cached": lambda worker: _with_share(worker.cached_prompt_tokens, worker.queried_prompt_tokens),
    "drafts": lambda worker: _with_share(worker.accepted_draft_tokens, worker.draft_tokens),
    "seen": lambda worker: f"{worker.last_seen_s:.1f} s",
}
_COLUMNS = _LEFT | _RIGHT
_LOAD = ("worker", "state", "running", "slots", "blocks", "tokens", "seen")
_KIND = ("worker", "kind", "node", "pid", "weights", "kernels", "cached", "drafts")


def status_page(answer: Status, before: Status | None = None, seconds: float = 0.0) -> RenderableType:
    """The whole page; with an earlier status, `seconds` ago, including rates."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    facts = Table.grid(padding=(0, 1, 0, 0))
    for label, fact in (*facts_of(answer), *_changes(before, answer, seconds)):
        facts.add_row(Text(label, no_wrap=True), Text(fact))
    parts: list[RenderableType] = [Text(_heading(answer)), facts]
    if answer.workers:
        parts.append(_Workers(answer))
    return Group(*parts)


def workers_summary(num_running: int, num_desired: int) -> str:
    """The number of workers, and of those that are starting or leaving."""
    if num_running == num_desired:
        return counted(num_running, "worker") if num_running else "no worker"
    if num_running < num_desired:
        return f"{num_running} of {counted(num_desired, 'worker')}, {num_desired - num_running} to come"
    return f"{counted(num_running, 'worker')}, {num_running - num_desired} to go"


def num_local(answer: Status, model: str | None = None) -> int:
    """The number of connected model workers, or those of one of several models."""
    names = {it.name for it in answer.models if model in (it.name, *it.aliases)}
    workers = [worker for worker in answer.workers if worker.kind == "local"]
    return sum(worker.model in names for worker in workers) if names else len(workers)


class _Workers:
    """One table, or two on a narrow terminal: the load and the properties of each worker."""

    def __init__(self, answer: Status) -> None:
        self._workers = sorted(answer.workers, key=lambda worker: natural_order(worker.worker_id))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self._width() <= options.max_width:
            yield self._table([*_COLUMNS])
        else:
            yield self._table(_LOAD)
            yield ""
            yield self._table(_KIND)

    def _width(self) -> int:
        widths = [
            max(len(heading), *(len(read(worker)) for worker in self._workers)) for heading, read in _COLUMNS.items()
        ]
        return sum(widths) + _GAP * len(widths)

    def _table(self, headings: Sequence[str]) -> Table:
        """A column that wraps long names."""
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0))
        for heading in headings:
            is_name = heading in ("worker", "node")
            table.add_column(
                heading,
                justify="right" if heading in _RIGHT else "left",
                no_wrap=not is_name,
                overflow="fold",
            )
        for worker in self._workers:
            table.add_row(*(Text(_COLUMNS[heading](worker)) for heading in headings))
        return table


def _heading(answer: Status) -> str:
    state = "draining" if answer.draining else "serving"
    idle = [it.desired_workers for it in answer.models if it.state in ("idle", "waiting")]
    desired = 0 if answer.model_state == "idle" and not answer.models else answer.desired_workers - sum(idle)
    workers = workers_summary(num_local(answer), desired)
    uptime = _long_time(answer.uptime_s)
    return f"{answer.model_names} · {state} for {uptime} · context {answer.max_context} · {workers}"


def facts_of(answer: Status) -> Iterator[tuple[str, str]]:
    """Labels and their values."""
    jobs = answer.jobs
    yield (
        "jobs",
        f"{jobs.queued} queued, {jobs.running} running, {jobs.finished} finished, "
        f"{jobs.failed} failed, {jobs.cancelled} cancelled, {jobs.rejected} rejected",
    )
    if jobs.queued:
        yield "", f"the oldest waits for {answer.held.oldest_waiting_s:.1f} s"
    if jobs.queued and not num_local(answer) and not answer.desired_workers:
        yield "", "no worker runs; `cactus scale 1` starts one"
    if not answer.models and answer.scaling is not None:
        yield "scaling", _scaling_of(answer.scaling)
    if not answer.models and answer.loads_on_demand:
        yield "model", "idle, loaded when a job comes" if answer.model_state == "idle" else "loading for a job"
    for model in answer.models:
        names = ", ".join([model.name, *model.aliases])
        summary = workers_summary(num_local(answer, model.name), model.desired_workers)
        if model.state == "idle":
            summary = f"idle, {counted(model.desired_workers, 'worker')} when a job comes"
        elif model.state == "waiting":
            summary = "waits for memory until a busy model is idle"
        elif model.state == "loading":
            summary = f"{summary}, loading for a job"
        yield "model", f"{names}: {summary}, {model.waiting} queued, {model.running} running"
        if model.scaling is not None:
            yield "", _scaling_of(model.scaling)
    for node in answer.leaving_nodes:
        yield "drained", drained_node(node)
    caches = dict.fromkeys((worker.model, _cache_of(worker)) for worker in answer.workers if worker.block_bytes)
    for name, memory in caches:
        yield "cache", f"{name}: {memory}" if answer.models else memory
    encoded = sum(worker.encoded_pictures for worker in answer.workers)
    cached = sum(worker.cached_pictures for worker in answer.workers)
    if encoded or cached:
        yield "pictures", f"{encoded} encoded, {cached} found encoded"
    yield (
        "handoffs",
        f"{jobs.handoffs_completed} completed, {jobs.handoffs_recommended} recommended, "
        f"{jobs.handoffs_failed} failed, {jobs.handoffs_suppressed} suppressed",
    )
    for row in (row for worker in answer.workers for row in worker.spent):
        tenant = "all tenants" if row.tenant is None else row.tenant or "no tenant"
        spent = [counted(row.requests, "request"), counted(row.tokens, "token")]
        if row.cost:  # 0 without prices
            amount = f"{row.cost:.4f}" if row.cost >= 0.0001 else "less than 0.0001"
            spent.append(f"{amount} {row.currency}")
        yield "cloud", f"{row.period}, {tenant}: {', '.join(spent)}"
    for audits in (worker.audits for worker in answer.workers):
        for tier, of_tier in ({} if audits is None else audits.by_tier).items():
            yield from audit_facts(of_tier, tier)
    if answer.refused:
        yield "refused", ", ".join(f"{count} {reason}" for reason, count in answer.refused.items())
    for worker, reason in answer.refused_workers.items():
        yield "", f"{worker}: {reason}"
    if answer.storage_error:
        yield "journal", f"cannot be written: {answer.storage_error}"


def drained_node(node: LeavingNodeStatus) -> str:
    """A node whose workers leave, and what is left on it."""
    left = f"{counted(node.num_workers, 'worker')} to go" if node.num_workers else "no worker left"
    ends = "" if node.ends_in_s is None else f", it ends in {_long_time(node.ends_in_s)}"
    return f"{node.node}: {left}{ends}"


def audit_facts(audits: AuditCounts, tier: str = "") -> Iterator[tuple[str, str]]:
    """Labels and their values, of the audits of answers that stay, at a tier of the cascade or outside of one."""
    counts = ", ".join(f"{count} {outcome}" for outcome, count in audits.outcomes.items())
    yield "audits", f"{tier and f'{tier}: '}{counts}, {audits.unjudged} to be judged (cactus audit)"
    watched = f"{audits.monitored_wrong} wrong of {audits.monitored} at this threshold"
    if audits.has_drifted:
        yield "", f"drift: more answers that stay are wrong than the bound allows ({watched}); calibrate again"
    elif audits.monitored:
        yield "", f"no drift: {watched}"
    if audits.step:
        whose = f"the threshold of {tier} is" if tier else "thresholds are"
        yield "", f"drift: tightened {counted(audits.step, 'time')}, {whose} at least {audits.min_threshold:.6g}"


def _scaling_of(scaling: ScalingStatus) -> str:
    """The range of a model's workers, and why there are as many as there are."""
    between = f"{scaling.min_workers} to {counted(scaling.max_workers, 'worker')}"
    if scaling.is_fixed:
        return f"{between}, set by an operator (`cactus scale auto` lets the load decide)"
    return f"{between} by load" + (f"; last change: {scaling.reason}" if scaling.reason else "")


def _cache_of(worker: WorkerStatus) -> str:
    """The memory of a worker's cache when it is full, and its parts."""
    parts = [f"{counted(worker.num_blocks, 'block')} of {_memory(worker.block_bytes)}"]
    if worker.num_states:
        parts.append(f"{counted(worker.num_states, 'recurrent state')} of {_memory(worker.state_bytes)}")
    return f"{' and '.join(parts)} a worker, {_memory(worker.cache_bytes)}"


def _memory(num_bytes: int) -> str:
    for unit, name in ((2**30, "GiB"), (2**20, "MiB")):
        if num_bytes >= unit:
            return f"{num_bytes / unit:.1f} {name}"
    return f"{num_bytes / 2**10:.1f} KiB"


def _changes(before: Status | None, now: Status, seconds: float) -> Iterator[tuple[str, str]]:
    if before is None:
        return
    rates = changes_of(before, now, seconds)
    yield "a second", ", ".join(f"{rate:.1f} {name}" for name, rate in rates.items()) or "-"
    if now.totals is not None:
        latencies = latencies_of(before.totals if before.epoch == now.epoch else None, now.totals)
        shown = [f"{name} {_time(half)} / {_time(most)}" for name, (half, most) in latencies.items()]
        yield "p50 / p95", ", ".join(shown) or "-"


def _time(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _long_time(seconds: float) -> str:
    minutes, hours, days = (int(seconds // unit) for unit in (60, 3600, 86_400))
    if days:
        return f"{days} d {hours % 24} h"
    if hours:
        return f"{hours} h {minutes % 60} min"
    return f"{minutes} min {seconds % 60:.0f} s" if minutes else f"{seconds:.0f} s"


def _with_share(count: int, total: int) -> str:
    """A count and its share of the total."""
    return f"{count} ({count / total:.0%})" if total else str(count)
