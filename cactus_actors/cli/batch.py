"""`cactus batch`: a prompt file."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cactus_actors.cli.options import (
    FIRST_ANSWER_S,
    AsJson,
    Endpoint,
    HandoffThreshold,
    KeyFile,
    MaxTokens,
    Seed,
    StreamEndpoint,
    Temperature,
)
from cactus_actors.config import DEFAULT_JOBS_ENDPOINT

Format = Literal["jsonl", "text"]

if TYPE_CHECKING:
    from cactus_actors.batch import BatchProgress, BatchRequest, PromptLine
    from cactus_actors.protocol.results import Result


def batch(
    source: Annotated[
        Path, typer.Argument(metavar="IN", help="JSONL, or plain text with one prompt a line.")
    ],
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", metavar="OUT", help="OpenAI batch lines; OUT's stem names the error file."
        ),
    ],
    resume: Annotated[bool, typer.Option("--resume", help="Continue a run that was cut off.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what OUT holds.")] = False,
    max_in_flight: Annotated[int, typer.Option(min=1, max=10_000, help="Jobs in the service at once.")] = 64,
    form: Annotated[
        Format | None, typer.Option("--format", help="How lines are read, if not by suffix and content.")
    ] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Continue plain lines as they stand, without the chat template.")
    ] = False,
    max_tokens: MaxTokens = None,
    temperature: Temperature = None,
    seed: Seed = None,
    cloud_handoff_threshold: HandoffThreshold = None,
    as_json: AsJson = False,
    endpoint: Endpoint = DEFAULT_JOBS_ENDPOINT,
    stream_endpoint: StreamEndpoint = None,
    key_file: KeyFile = None,
) -> None:
    """Run every line of a prompt file, each exactly once, whatever is killed in between.

    A plain line (text, or a JSON string) is a question to a chat model, and text to continue for a model
    without a chat template or with --raw; {"prompt": ...} is always text to continue, {"messages": ...} a
    chat, and OpenAI batch lines are what their url says. Options fill in what a line leaves out.

    Results are added to OUT.partial as they finish and become OUT when all are there; lines that fail go to
    the error file beside it in the same way. OUT.journal stays, so that --resume notices a changed input.

    Exit code: 0 if every line succeeded, 1 if any line failed, 2 if an option is wrong for all of them.

    Example: cactus batch prompts.jsonl -o results.jsonl --resume
    """
    from cactus_actors.batch import BatchRequest
    from cactus_actors.protocol.options import Options

    request = BatchRequest(
        source=source,
        output=output,
        options=Options(
            max_tokens=max_tokens,
            temperature=temperature,
            seed=seed,
            cloud_handoff_threshold=cloud_handoff_threshold,
        ),
        form=form,
        raw=raw,
        max_in_flight=max_in_flight,
        resume=resume,
        overwrite=overwrite,
    )
    try:
        progress = asyncio.run(_run(request, endpoint, stream_endpoint, key_file))
    except KeyboardInterrupt:
        typer.secho("interrupted; --resume continues", fg=typer.colors.YELLOW, err=True)
        raise
    _report(progress, request, as_json=as_json)
    if progress.num_failed:
        raise typer.Exit(1)


async def _run(
    request: BatchRequest, endpoint: str, stream_endpoint: str | None, key_file: str | None
) -> BatchProgress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from cactus_actors.batch import run_batch
    from cactus_actors.client import AsyncClient

    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]:.0f} tokens/s"),
        TextColumn("{task.fields[failed]} failed"),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )
    with bar:
        task = bar.add_task(request.source.name, total=None, rate=0.0, failed=0)

        def observe(progress: BatchProgress, line: PromptLine | None, result: Result | None) -> None:  # noqa: ARG001
            bar.update(
                task,
                total=progress.num_lines,
                completed=progress.num_done,
                rate=progress.tokens_per_second,
                failed=progress.num_failed,
            )

        async with AsyncClient(
            endpoint, stream_endpoint, timeout=FIRST_ANSWER_S, key_file=key_file
        ) as client:
            return await run_batch(request, client, observe)


def _report(progress: BatchProgress, request: BatchRequest, *, as_json: bool) -> None:
    import msgspec

    paths = request.paths
    if as_json:
        report = {
            "lines": progress.num_lines,
            "succeeded": progress.num_succeeded,
            "failed": progress.num_failed,
            "resumed": progress.num_resumed,
            "completion_tokens": progress.completion_tokens,
            "tokens_per_second": round(progress.tokens_per_second, 1),
            "output": str(paths.output),
            "errors": str(paths.errors),
        }
        typer.echo(msgspec.json.encode(report).decode())
        return
    if progress.num_lines == 0:
        typer.echo(f"{paths.source}: empty_input, there is no prompt in it")
        return
    failed = f", {progress.num_failed} failed ({paths.errors})" if progress.num_failed else ""
    earlier = f", {progress.num_resumed} of them before" if progress.num_resumed else ""
    typer.echo(
        f"{progress.num_succeeded} of {progress.num_lines} lines done ({paths.output}){failed}{earlier}"
    )
