"""What `cactus batch` shows before a run: lines as they would be sent, and an estimate."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import typer

from cactus_actors.cli.batch_progress import duration
from cactus_actors.cli.terminal import counted, print_json

if TYPE_CHECKING:
    from cactus_actors.batch.preview import RunEstimate


def show_lines(lines: list[dict[str, Any]], *, as_json: bool) -> None:
    """Print lines as they would be sent."""
    if as_json:
        print_json({"lines": lines})
        return
    if not lines:
        typer.echo("there is no prompt in the input")
    for line in lines:
        typer.echo(f"line {line.pop('line')}: {json.dumps(line, indent=2, ensure_ascii=False)}")


def show_estimate(estimate: RunEstimate, *, as_json: bool) -> None:
    """Print what a run would take."""
    import msgspec

    if as_json:
        print_json(msgspec.to_builtins(estimate))
        return
    typer.echo(f"{counted(estimate.num_lines, 'line')}, by {estimate.num_sampled} that were asked, need about")
    typer.echo(f"  {duration(estimate.seconds)}")
    typer.echo(f"  {estimate.prompt_tokens} tokens of prompts, {estimate.completion_tokens} of answers")
    cost = "" if estimate.cost is None else f" for {estimate.cost:.6g} {estimate.currency or ''}".rstrip()
    if estimate.num_handed_off:
        typer.echo(f"  {counted(estimate.num_handed_off, 'line')} handed off{cost}")
    if estimate.num_failed:
        typer.echo(f"  {counted(estimate.num_failed, 'line')} failed")
