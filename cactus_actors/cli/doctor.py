"""`cactus doctor`: examines the machine for a service."""

from __future__ import annotations

import os
import shutil
import textwrap
from typing import TYPE_CHECKING, Annotated

import typer

from cactus_actors.cli.config_file import config_of
from cactus_actors.cli.setting_options import ConfigFile
from cactus_actors.cli.shared_options import AsJson
from cactus_actors.cli.terminal import counted, print_json

if TYPE_CHECKING:
    from cactus_actors.doctor.finding import Finding, Grade

INDENT = " " * 24
_COLOURS: dict[Grade, str] = {"good": typer.colors.GREEN, "note": typer.colors.YELLOW, "bad": typer.colors.RED}


def doctor(
    config: ConfigFile = None,
    self_test: Annotated[
        bool, typer.Option("--self-test/--no-self-test", help="Measure the kernels and the memory, in some seconds.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Examine this machine for a service, and say what to do about each finding.

    Looked at are versions, settings, ports, memory, the cluster, the processor, the directories and their disk, open
    files and the clock. Speeds are shown beside those of machines of this kind. Nothing is started or changed. A
    finding is good, a note (a service runs, but slower or less safely than it could) or bad (it does not start, or not
    for long).

    Exit code: 1 if a finding is bad, otherwise 0.

    Example: cactus doctor

    Example: cactus doctor --config cactus.toml --json
    """
    from cactus_actors.doctor.examination import examine

    findings = []
    for finding in examine(config_of(config, {}), os.environ, measures=self_test):
        findings.append(finding)
        if not as_json:
            _print(finding)
    num_bad = sum(finding.grade == "bad" for finding in findings)
    if as_json:
        print_json({"is_healthy": not num_bad, "findings": findings})
    else:
        num_notes = sum(finding.grade == "note" for finding in findings)
        typer.echo(f"{counted(num_bad, 'finding')} that must be changed, {counted(num_notes, 'note')}")
    if num_bad:
        raise typer.Exit(1)


def _print(finding: Finding) -> None:
    """The finding in lines of the terminal's width, its advice below."""
    head = f"{finding.subject:18}{finding.grade:6}"
    width = max(shutil.get_terminal_size().columns, 60)
    first, *rest = textwrap.wrap(finding.text, width - len(INDENT), break_on_hyphens=False)
    typer.echo(f"{head[:18]}{typer.style(head[18:], fg=_COLOURS[finding.grade])}{first}")
    for line in rest:
        typer.echo(f"{INDENT}{line}")
    if finding.advice:
        wrapped = textwrap.wrap(f"→ {finding.advice}", width - len(INDENT), break_on_hyphens=False)
        for line in wrapped:
            typer.echo(f"{INDENT}{line}")
