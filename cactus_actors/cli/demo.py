"""`cactus demo`: the main job, end to end, on the embedded models."""

from __future__ import annotations

import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from cactus_actors.config import HandoffSettings, ServeConfig
from cactus_actors.config_models import DEFAULT_MODEL, ModelEntry

if TYPE_CHECKING:
    from rich.console import Console

    from cactus_actors.cli.demo_run import DemoSummary

ANY_PORT = "tcp://127.0.0.1:*"


def demo(
    output: Annotated[Path, typer.Option("-o", "--output", help="Where results are written.")] = Path(
        "demo-results.jsonl"
    ),
    workers: Annotated[int, typer.Option(min=1, help="Model workers to start.")] = 2,
    cluster: Annotated[
        bool,
        typer.Option("--cluster/--no-cluster", help="Repeat it on a private Ray cluster that loses a node."),
    ] = True,
    rows: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Instead: answer a table of N rows on a private Ray cluster that grows to three nodes and loses one.",
        ),
    ] = None,
) -> None:
    """Serve the embedded models, run a prompt file, stream one answer, ask about a picture, print a summary.

    Then repeat the prompt file on a private Ray cluster of two nodes, kill one of them, and compare the tokens, if the
    package was installed with Ray: cactus-actors[ray].

    With --rows, a Parquet file of questions is made beside OUTPUT, and answered by `cactus batch --ray`'s engines into
    a folder there: first on one node, then on three, of which one is killed. That needs the extras `data` and `ray`.

    Example: cactus demo

    Example: cactus demo --rows 20000
    """
    import sys

    from rich.console import Console

    console = Console(file=sys.stdout)  # keeps printing while Ray's output is redirected
    if rows is None:
        run_demo(output, console, workers=workers, cluster=cluster)
        return
    from cactus_actors.cli.demo_rows import show_rows

    with tempfile.TemporaryDirectory(prefix="cactus-demo-") as state_dir:
        show_rows(rows, Path(state_dir), output.with_name(f"{output.stem}-rows"), console)


def run_demo(output: Path, console: Console, *, workers: int, cluster: bool) -> None:
    """Print the run of `demo` on a console."""
    import asyncio

    from cactus_actors.cli.demo_picture import VISION_MODEL, ask_about_picture
    from cactus_actors.cli.demo_run import run_prompt_file, running

    with tempfile.TemporaryDirectory(prefix="cactus-demo-") as state_dir:  # separate from any other service
        config = ServeConfig(
            workers=workers,
            jobs_endpoint=ANY_PORT,
            stream_endpoint=ANY_PORT,
            http="",
            state_dir=Path(state_dir),
            # The prompts ask for stories, too: the probability of a whole story is low whether it is good or not.
            handoff=HandoffSettings(confidence_signal="entropy"),
        )
        both = [ModelEntry(name=DEFAULT_MODEL, workers=workers), ModelEntry(name=VISION_MODEL, workers=1)]
        with running(msgspec.structs.replace(config, models=both), console) as endpoints:
            tally = asyncio.run(run_prompt_file(endpoints, output, console))
            console.print()
            _report(tally, output, console)
            console.print()
            ask_about_picture(endpoints, output.with_name(f"{output.stem}-picture.png"), console)
        if cluster and find_spec("ray") is None:
            console.print(
                "\nWith Ray (pip install 'cactus-actors\\[ray]'), the same follows on a cluster of two nodes."
            )
        elif cluster:
            from cactus_actors.cli.demo_cluster import show_on_cluster

            console.print("\nThe same on a private Ray cluster of two nodes on this machine")
            show_on_cluster(config, output.with_stem(f"{output.stem}-cluster"), tally, console)


def _report(tally: DemoSummary, output: Path, console: Console) -> None:
    from rich.table import Table

    from cactus_actors.cli.bench_service import percentile

    table = Table(show_header=False)
    table.add_row("jobs", f"{len(tally.first_token_ms)} done, {tally.num_failed} failed")
    table.add_row("tokens/s", f"{tally.completion_tokens / tally.seconds:.0f}")
    first = tally.first_token_ms
    table.add_row("time to first token", f"p50 {percentile(first, 50):.0f} ms, p99 {percentile(first, 99):.0f} ms")
    table.add_row("by worker", ", ".join(f"{name} {count}" for name, count in sorted(tally.workers.items())))
    table.add_row("below threshold", f"{tally.handoffs.total()} of {len(first)} jobs")
    for outcome, count in tally.handoffs.most_common():
        table.add_row("", f"{count} {outcome}")
    console.print(table)
    console.print(f"results in {output}; with a key from `cactus auth`, jobs below the threshold go to a cloud model")
