"""docs/reference/cli.md: every command with its arguments and options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer

from cactus_actors.cli import main
from cactus_actors.cli.parameters import Parameter, parameters_of
from docs.generate.layout import item, page, paragraphs

INTRODUCTION = """\
`cactus COMMAND --help` shows the same on a terminal. Settings of `cactus serve` that have no option are in the file
that `--config` names: [configuration.md](configuration.md)."""
EXAMPLE = re.compile(r"^Example: (.*)$", re.MULTILINE)


def cli_page() -> str:
    """The text of the page."""
    program: Any = typer.main.get_command(main.app)
    exit_codes = paragraphs((main.main.__doc__ or "").split("\n\n", 1)[1])
    parts = [section for name, command in _commands("cactus", program) for section in _sections(name, command)]
    return page("Command line", INTRODUCTION, exit_codes, *parts)


def _commands(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    subcommands = getattr(command, "commands", None)
    if not subcommands:
        yield name, command
    for word, subcommand in (subcommands or {}).items():
        yield from _commands(f"{name} {word}", subcommand)


def _sections(name: str, command: Any) -> Iterator[str]:
    yield f"## {name}"
    parameters = list(parameters_of(command))
    words = [parameter.spellings[0] for parameter in parameters if parameter.is_argument]
    yield "    " + " ".join([name, "[OPTIONS]", *words])
    if text := EXAMPLE.sub("", command.help).strip():
        yield paragraphs(text)
    if examples := EXAMPLE.findall(command.help):
        yield "\n".join(["Examples:" if len(examples) > 1 else "Example:", "", *(f"    {one}" for one in examples)])
    panels: dict[str | None, list[str]] = {}
    for parameter in parameters:
        panels.setdefault(parameter.panel, []).append(_entry(parameter))
    for panel, entries in panels.items():
        yield "\n".join([*([f"{panel}:", ""] if panel else []), *entries])


def _entry(parameter: Parameter) -> str:
    names = ", ".join(f"`{spelling}`" for spelling in parameter.spellings)
    if parameter.value:
        names += f" `{parameter.value}`"
    return item(names, parameter.description)
