"""`cactus demo`: the main job, end to end, on the embedded model."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cactus_actors.config import ServeConfig
from cactus_actors.protocol.options import Options

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from cactus_actors.batch import BatchProgress, PromptLine
    from cactus_actors.client import AsyncClient
    from cactus_actors.health import Endpoints
    from cactus_actors.protocol.results import Result

ANY_PORT = "tcp://127.0.0.1:*"
STREAMED_PROMPT = "Tell me a short story about a fox."
# The model card says what this threshold hands on: hedges and most wrong answers, few right ones.
OPTIONS = Options(temperature=0.0, max_tokens=96, cloud_handoff_threshold=0.95)


@dataclass
class Tally:
    """What became of the jobs of a run."""

    seconds: float = 0.0
    completion_tokens: int = 0
    num_failed: int = 0
    first_token_ms: list[float] = field(default_factory=list)
    handoffs: Counter[str] = field(default_factory=Counter)
    workers: Counter[str] = field(default_factory=Counter)

    def add(self, result: Result) -> None:
        """Count one finished job."""
        self.completion_tokens += result.usage.completion_tokens
        self.first_token_ms.append(result.timings.time_to_first_token_ms)
        self.workers[result.worker] += 1
        if result.handoff.status != "none":
            self.handoffs[f"{result.handoff.status}: {result.handoff.reason}"] += 1


def demo(
    output: Annotated[Path, typer.Option("-o", "--output", help="Where results are written.")] = Path(
        "demo-results.jsonl"
    ),
    workers: Annotated[int, typer.Option(min=1, help="Model workers to start.")] = 2,
) -> None:
    """Serve the embedded model, run a prompt file, stream one answer, print what happened.

    Example: cactus demo
    """
    from rich.console import Console

    from cactus_actors.cluster.service import Service

    console = Console()
    config = ServeConfig(workers=workers, jobs_endpoint=ANY_PORT, stream_endpoint=ANY_PORT, http="")
    service = Service(config, announce=console.print)
    started = time.monotonic()
    with ExitStack() as stack:
        with console.status(
            f"starting Ray, the router, {workers} workers and the handoff actor"
            " (the first time, kernels are compiled too)"
        ):
            service.start()
        stack.callback(service.stop)
        stop = threading.Event()
        tending = threading.Thread(target=service.tend, args=(stop,))
        tending.start()
        stack.callback(tending.join)
        stack.callback(stop.set)
        console.print(f"router, {workers} workers and the handoff actor are up ({_since(started)})")
        tally = asyncio.run(_run(service.endpoints, output, console))
    console.print()
    _report(tally, output, console)


async def _run(endpoints: Endpoints, output: Path, console: Console) -> Tally:
    """Run the prompt file with a progress bar, and stream one prompt beside it."""
    from rich.console import Group
    from rich.live import Live
    from rich.panel import Panel
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.text import Text

    from cactus_actors.batch import BatchRequest, run_batch
    from cactus_actors.client import AsyncClient

    tally = Tally()
    streamed = Text()
    bar = Progress(TextColumn("prompt file"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    task = bar.add_task("", total=None)

    def observe(progress: BatchProgress, _: PromptLine | None, result: Result | None) -> None:
        bar.update(task, total=progress.num_lines, completed=progress.num_done)
        tally.num_failed = progress.num_failed
        if result is not None:
            tally.add(result)

    package = resources.files("cactus_actors.cli")
    with (
        resources.as_file(package / "demo_prompts.jsonl") as prompts,
        Live(Group(Panel(streamed, title=STREAMED_PROMPT), bar), console=console),
    ):
        async with (
            AsyncClient(endpoints.jobs, endpoints.stream, key_file="") as client,
            asyncio.TaskGroup() as tasks,
        ):
            tasks.create_task(_stream(client, streamed))
            started = time.monotonic()
            request = BatchRequest(source=prompts, output=output, options=OPTIONS, overwrite=True)
            await run_batch(request, client, observe)
            tally.seconds = time.monotonic() - started
    return tally


async def _stream(client: AsyncClient, streamed: Text) -> None:
    messages = [{"role": "user", "content": STREAMED_PROMPT}]
    async for delta in client.stream(messages=messages, temperature=0, max_tokens=120):
        streamed.append(delta.text)


def _report(tally: Tally, output: Path, console: Console) -> None:
    from rich.table import Table

    table = Table(show_header=False)
    table.add_row("jobs", f"{len(tally.first_token_ms)} done, {tally.num_failed} failed")
    table.add_row("tokens/s", f"{tally.completion_tokens / tally.seconds:.0f}")
    first = sorted(tally.first_token_ms)
    table.add_row(
        "time to first token", f"p50 {_percentile(first, 50):.0f} ms, p99 {_percentile(first, 99):.0f} ms"
    )
    table.add_row("by worker", ", ".join(f"{name} {count}" for name, count in sorted(tally.workers.items())))
    table.add_row(
        "escalated", f"{tally.handoffs.total()} of {len(first)} fell under their confidence threshold"
    )
    for outcome, count in tally.handoffs.most_common():
        table.add_row("", f"{count} {outcome}")
    console.print(table)
    console.print(f"results in {output}; `cactus auth` lets unsure jobs go to a cloud model")


def _percentile(ordered: list[float], percent: float) -> float:
    return ordered[min(len(ordered) - 1, round(percent / 100 * (len(ordered) - 1)))]


def _since(started: float) -> str:
    return f"{time.monotonic() - started:.1f} s"
