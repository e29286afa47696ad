"""`cactus status`, `cactus scale` and `cactus restart`: look at a running service, size it, renew it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from cactus_actors.cli.options import FIRST_ANSWER_S, AsJson, Endpoint, KeyFile
from cactus_actors.cli.terminal import natural_order
from cactus_actors.config import DEFAULT_JOBS_ENDPOINT

if TYPE_CHECKING:
    from cactus_actors.protocol.messages import Status


def status(
    as_json: AsJson = False, endpoint: Endpoint = DEFAULT_JOBS_ENDPOINT, key_file: KeyFile = None
) -> None:
    """Show jobs and workers of a running service.

    Example: cactus status --json
    """
    from cactus_actors.client import Client

    with Client(endpoint, timeout=FIRST_ANSWER_S, key_file=key_file) as client:
        answer = client.status()
    if as_json:
        import msgspec

        typer.echo(msgspec.json.encode(answer).decode())
    else:
        _print_tables(answer)


def scale(
    num_workers: Annotated[int, typer.Argument(min=0, metavar="N", help="Model workers to keep alive.")],
    as_json: AsJson = False,
    endpoint: Endpoint = DEFAULT_JOBS_ENDPOINT,
    key_file: KeyFile = None,
) -> None:
    """Set the number of model workers; running jobs lose nothing.

    Example: cactus scale 4
    """
    from cactus_actors.client import Client

    with Client(endpoint, timeout=FIRST_ANSWER_S, key_file=key_file) as client:
        wished = client.scale(num_workers)
    typer.echo(f'{{"num_workers":{wished}}}' if as_json else f"{wished} workers are wished for")


def restart(
    as_json: AsJson = False, endpoint: Endpoint = DEFAULT_JOBS_ENDPOINT, key_file: KeyFile = None
) -> None:
    """Replace every model worker by a new one, one after the other; running jobs lose nothing.

    Example: cactus restart
    """
    from cactus_actors.client import Client

    with Client(endpoint, timeout=FIRST_ANSWER_S, key_file=key_file) as client:
        num_workers = client.restart_workers()
    typer.echo(f'{{"num_workers":{num_workers}}}' if as_json else f"{num_workers} workers are being replaced")


def _print_tables(answer: Status) -> None:
    from rich.console import Console
    from rich.table import Table

    jobs = answer.jobs
    num_local = sum(worker.kind == "local" for worker in answer.workers)
    state = "draining" if answer.draining else "serving"
    typer.echo(
        f"{answer.model} · {state} for {answer.uptime_s:.0f} s · context {answer.max_context} · "
        f"{num_local} workers, {answer.desired_workers} wished for"
    )
    typer.echo(
        f"jobs      {jobs.queued} queued, {jobs.running} running, {jobs.finished} finished, "
        f"{jobs.failed} failed, {jobs.cancelled} cancelled, {jobs.rejected} rejected"
    )
    typer.echo(
        f"handoffs  {jobs.handoffs_completed} completed, {jobs.handoffs_recommended} recommended, "
        f"{jobs.handoffs_failed} failed, {jobs.handoffs_suppressed} suppressed"
    )
    if answer.refused:
        typer.echo(f"refused   {', '.join(f'{count} {reason}' for reason, count in answer.refused.items())}")
    for worker_id, reason in answer.refused_workers.items():
        typer.echo(f"{worker_id} gets no jobs: {reason}")
    if not answer.workers:
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("worker", "kind", "node", "pid", "weights", "kernels", "state"):
        table.add_column(heading, no_wrap=True)
    for heading in ("running", "slots", "blocks", "tokens", "cached", "drafts", "seen"):
        table.add_column(heading, justify="right", no_wrap=True)
    for worker in sorted(answer.workers, key=lambda worker: natural_order(worker.worker_id)):
        table.add_row(
            worker.worker_id,
            worker.kind,
            worker.node,
            str(worker.pid),
            worker.weights,
            worker.kernels and f"{worker.kernels} x{worker.threads}",
            worker.state,
            str(worker.num_running),
            f"{worker.free_slots}/{worker.num_slots}",
            f"{worker.free_blocks}/{worker.num_blocks}",
            str(worker.tokens_generated),
            _with_share(worker.cached_prompt_tokens, worker.queried_prompt_tokens),
            _with_share(worker.accepted_draft_tokens, worker.draft_tokens),
            f"{worker.last_seen_s:.1f} s",
        )
    # what a script reads is as wide as it needs to be
    Console(width=None if sys.stdout.isatty() else 200).print(table)


def _with_share(count: int, total: int) -> str:
    """A count, and how much of the total it is."""
    return f"{count} ({count / total:.0%})" if total else str(count)
