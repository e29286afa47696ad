"""The demo's service, and one run of its prompt file on it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from cactus_actors.cli.interrupts import insisting_interrupts
from cactus_actors.cli.terminal import activity
from cactus_actors.config import ServeConfig
from cactus_actors.protocol.options import Options

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from cactus_actors.batch import BatchProgress, PromptLine
    from cactus_actors.client import AsyncClient
    from cactus_actors.process.health import Endpoints
    from cactus_actors.protocol.results import Result

STREAMED_PROMPT = "Tell me a short story about a fox."
# The model card describes this threshold: it hands off hedges and most wrong answers, few right ones.
OPTIONS = Options(temperature=0.0, max_tokens=96, cloud_handoff_threshold=0.95)


@dataclass
class DemoSummary:
    """Counts of a run; `token_ids` are those of local answers, by line."""

    seconds: float = 0.0
    completion_tokens: int = 0
    num_failed: int = 0
    num_retried: int = 0
    first_token_ms: list[float] = field(default_factory=list)
    handoffs: Counter[str] = field(default_factory=Counter)
    workers: Counter[str] = field(default_factory=Counter)
    token_ids: dict[str, list[int]] = field(default_factory=dict)

    def add(self, line: str, result: Result) -> None:
        """Count one finished job."""
        self.completion_tokens += result.usage.completion_tokens
        self.num_retried += result.attempts > 1
        self.first_token_ms.append(result.timings.time_to_first_token_ms)
        self.workers[result.worker] += 1
        if not result.cloud_handoff:
            self.token_ids[line] = result.token_ids
        if result.handoff.status != "none":
            self.handoffs[f"{result.handoff.status}: {result.handoff.reason}"] += 1


@contextmanager
def running(config: ServeConfig, console: Console) -> Iterator[Endpoints]:
    """Start a service, supervise it in a thread, and stop it at the end; raises the errors of its start."""
    from cactus_actors.service.service import Service

    service = Service(config, announce=console.print)
    num_workers = service.num_workers
    started = time.monotonic()
    with ExitStack() as stack:
        starting = f"starting the router and {num_workers} workers (the first time, kernels are compiled too)"
        with insisting_interrupts():
            with activity(console, starting):
                service.start()
            stack.callback(service.stop)
        stop = threading.Event()
        tending = threading.Thread(target=service.reconcile, args=(stop,))
        tending.start()
        stack.callback(tending.join)
        stack.callback(stop.set)
        console.print(f"the router and {num_workers} workers are up ({time.monotonic() - started:.1f} s)")
        yield service.endpoints


async def run_prompt_file(
    endpoints: Endpoints, output: Path, console: Console, on_first_answer: Callable[[], None] = lambda: None
) -> DemoSummary:
    """Run the prompt file with a progress bar, and stream one prompt at the same time."""
    from rich.console import Group
    from rich.live import Live
    from rich.panel import Panel
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.text import Text

    from cactus_actors.batch import BatchRequest, run_batch
    from cactus_actors.client import AsyncClient

    tally = DemoSummary()
    streamed = Text()
    bar = Progress(TextColumn("prompt file"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    task = bar.add_task("", total=None)

    def observe(progress: BatchProgress, line: PromptLine | None, result: Result | None) -> None:
        bar.update(task, total=progress.num_lines, completed=progress.num_done)
        tally.num_failed = progress.num_failed
        if line is None or result is None:
            return
        tally.add(line.custom_id, result)
        if len(tally.first_token_ms) == 1:
            on_first_answer()

    package = resources.files("cactus_actors.cli")
    with (
        resources.as_file(package / "demo_prompts.jsonl") as prompts,
        Live(Group(Panel(streamed, title=STREAMED_PROMPT), bar), console=console, redirect_stdout=False),
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
    if not console.is_terminal:
        console.line()  # Live ends the last line of a terminal only
    return tally


async def _stream(client: AsyncClient, streamed: Text) -> None:
    messages = [{"role": "user", "content": STREAMED_PROMPT}]
    async for delta in client.stream(messages=messages, temperature=0, max_tokens=120):
        streamed.append(delta.text)
