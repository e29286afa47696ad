"""docs/reference/cli.md: every command with its arguments and options."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import typer

from cactus_actors.cli import main
from cactus_actors.cli.help_page import EXAMPLE
from cactus_actors.cli.parameters import Parameter, parameters_of
from cactus_actors.cli.shared_options import CONNECTION, REASONING, SAMPLING
from docs.generate.layout import item, page, paragraphs

INTRODUCTION = """\
`cactus COMMAND --help` shows the same on a terminal. Settings of `cactus serve` that have no option are in the file
that `--config` names: [configuration.md](configuration.md)."""
SHARED = {
    SAMPLING: "Options of jobs; [options](options.md) has their defaults.",
    REASONING: "",
    CONNECTION: "",
}
"""The panels that several commands have, with an introduction; their options are described once."""


def cli_page() -> str:
    """The text of the page."""
    program: Any = typer.main.get_command(main.app)
    commands = list(_commands("cactus", program))
    exit_codes = paragraphs((main.main.__doc__ or "").split("\n\n", 1)[1])
    links = ", ".join(f"[{name.removeprefix('cactus ')}](#{name.replace(' ', '-')})" for name, _ in commands)
    shared = _shared_entries(command for _, command in commands)
    parts = [section for name, command in commands for section in _sections(name, command, shared)]
    parts.append("## Shared options")
    for panel, introduction in SHARED.items():
        parts += [f"### {panel}", introduction, "\n".join(shared[panel].values())]
    return page("Command line", INTRODUCTION, exit_codes, paragraphs(f"Commands: {links}"), *filter(None, parts))


def _shared_entries(commands: Iterable[Any]) -> dict[str, dict[str, str]]:
    """The entries of shared options by panel and by spelling, as the first command has them."""
    entries: dict[str, dict[str, str]] = {panel: {} for panel in SHARED}
    for command in commands:
        for parameter in parameters_of(command):
            if parameter.panel in SHARED:
                entries[parameter.panel].setdefault(parameter.spellings[0], _entry(parameter))
    return entries


def _commands(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    subcommands = getattr(command, "commands", None)
    if not subcommands:
        yield name, command
    for word, subcommand in (subcommands or {}).items():
        yield from _commands(f"{name} {word}", subcommand)


def _sections(name: str, command: Any, shared: dict[str, dict[str, str]]) -> Iterator[str]:
    yield f"## {name}"
    parameters = list(parameters_of(command))
    arguments = [parameter for parameter in parameters if parameter.is_argument]
    words = [one.spellings[0] if "required" in one.notes else f"[{one.spellings[0]}]" for one in arguments]
    yield "    " + " ".join([name, "[OPTIONS]", *words])
    if text := EXAMPLE.sub("", command.help).strip():
        yield paragraphs(text)
    if examples := EXAMPLE.findall(command.help):
        yield "\n".join(["Examples:" if len(examples) > 1 else "Example:", "", *(f"    {one}" for one in examples)])
    panels: dict[str | None, list[str]] = {}
    names: list[str] = []
    for parameter in parameters:
        if _entry(parameter) in shared.get(parameter.panel or "", {}).values():
            names += parameter.spellings
        else:
            panels.setdefault(None if parameter.panel in SHARED else parameter.panel, []).append(_entry(parameter))
    for panel, entries in panels.items():
        yield "\n".join([*([f"{panel}:", ""] if panel else []), *entries])
    if names:
        yield paragraphs("[Shared options](#shared-options): " + ", ".join(f"`{name}`" for name in names))


def _entry(parameter: Parameter) -> str:
    names = ", ".join(f"`{spelling}`" for spelling in parameter.spellings)
    if parameter.value:
        names += f" `{parameter.value}`"
    return item(names, parameter.description)
