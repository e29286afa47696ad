"""docs/reference/cli.md: every command with its arguments and options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import typer

from cactus_actors.cli import main
from docs.generate.layout import item, page, paragraphs

INTRODUCTION = """\
`cactus COMMAND --help` shows the same on a terminal. Settings of `cactus serve` that have no option are in the file
that `--config` names: [configuration.md](configuration.md)."""
EXAMPLE = re.compile(r"^Example: (.*)$", re.MULTILINE)
_VALUES = {int: "INTEGER", float: "NUMBER", str: "TEXT", Path: "PATH"}


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
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    words = [one.metavar or one.name.upper() for one in arguments]
    yield "    " + " ".join([name, "[OPTIONS]", *words])
    if text := EXAMPLE.sub("", command.help).strip():
        yield paragraphs(text)
    if examples := EXAMPLE.findall(command.help):
        yield "\n".join(["Examples:" if len(examples) > 1 else "Example:", "", *(f"    {one}" for one in examples)])
    hints = get_type_hints(command.callback, include_extras=True)
    panels: dict[str | None, list[str]] = {}
    for parameter in command.params:
        if parameter.name != "help":
            panels.setdefault(parameter.rich_help_panel, []).append(_parameter(parameter, hints[parameter.name]))
    for panel, entries in panels.items():
        yield "\n".join([*([f"{panel}:", ""] if panel else []), *entries])


def _parameter(parameter: Any, hint: Any) -> str:
    kind = _bare(hint)
    spellings = ", ".join(f"`{spelling}`" for spelling in [*parameter.opts, *parameter.secondary_opts])
    if parameter.param_type_name == "argument":
        spellings = f"`{parameter.metavar or parameter.name.upper()}`"
    elif kind is not bool:
        value = parameter.metavar or ("|".join(get_args(kind)) if get_origin(kind) is Literal else _VALUES[kind])
        spellings += f" `{value}`"
    notes = []
    if parameter.min is not None or parameter.max is not None:
        low, high = (None if bound is None else f"{bound:g}" for bound in (parameter.min, parameter.max))
        notes.append(f"{low} to {high}" if high else f"at least {low}")
    if parameter.required:
        notes.append("required")
    elif isinstance(parameter.show_default, str):
        notes.append(f"default `{parameter.show_default}`")
    elif parameter.default not in (None, False, [], ()) and kind is not bool:
        notes.append(f"default `{parameter.default}`")
    if parameter.envvar:
        notes.append(f"or `{parameter.envvar}`")
    return item(spellings, " ".join(filter(None, [parameter.help, f"({'; '.join(notes)})" if notes else ""])))


def _bare(hint: Any) -> Any:
    """The type of the values, without None, lists and metadata."""
    while get_origin(hint) in (Annotated, Union, UnionType, list):
        hint = next(part for part in get_args(hint) if part is not type(None))
    return hint
