"""The help of a command at the terminal's width: what it does, examples, arguments and options in panels.

It is written without rich, whose import takes as long as all the rest of `cactus --help`.
"""

from __future__ import annotations

import inspect
import os
import re
import shutil
import textwrap
from collections.abc import Iterator
from typing import Any

import typer

from cactus_actors.cli.parameters import Parameter, parameters_of

MAX_NAME = 27
"""Width of the column of names; the description of a longer name begins below it."""
EXAMPLE = re.compile(r"^Example: (.*)$", re.MULTILINE)
_WORDS_OF_SHELL = re.compile(r"""(?:'[^']*'|"[^"]*"|\S)+""")
_HELP = ("-h, --help", "Show this message and exit.")
_COMPLETION = (
    ("--install-completion", "Install completion of commands, options and models for the current shell."),
    ("--show-completion", "Print the script of that completion."),
)

Row = tuple[str, str]


def help_page(command: Any, context: Any) -> str:
    """The page as text, with the colours of a terminal unless NO_COLOR is set."""
    width = shutil.get_terminal_size().columns
    text = inspect.cleandoc(command.help or "")
    lines = [_styled(command.get_usage(context), bold=True)]
    for paragraph in filter(str.strip, EXAMPLE.sub("", text).split("\n\n")):
        lines += ["", *_wrapped(paragraph, width)]
    if examples := EXAMPLE.findall(text):
        lines += ["", _styled("Examples", bold=True)]
        lines += [line for example in examples for line in _command_lines(example, width)]
    panels = _panels(command)
    names = [name for rows in panels.values() for name, _ in rows]
    name_width = max(len(name) for name in names if len(name) <= MAX_NAME)
    for heading, rows in panels.items():
        lines += ["", _styled(heading, bold=True)]
        for row in rows:
            lines += _row(*row, name_width, width)
    return "\n".join(lines) + "\n"


def _row(name: str, text: str, name_width: int, width: int) -> Iterator[str]:
    """A name, and its description beside it, or below it if the name is long."""
    shown, indent = _styled(f"  {name}", fg=typer.colors.CYAN), name_width + 4
    first, *rest = _wrapped(text, width - indent)
    if len(name) > name_width:
        yield shown
        rest = [first, *rest]
    else:
        yield f"{shown}{' ' * (indent - len(name) - 2)}{first}"
    yield from (" " * indent + line for line in rest)


def _command_lines(command: str, width: int) -> Iterator[str]:
    """A command in lines that a shell joins."""
    line = " "
    for word in _WORDS_OF_SHELL.findall(command):
        if len(line) + len(word) + 3 > width:
            yield f"{line} \\"
            line = "   "
        line += f" {word}"
    yield line


def _wrapped(text: str, width: int) -> list[str]:
    """A paragraph in lines; the marks of code are for the reference page."""
    return textwrap.wrap(text.replace("`", ""), max(width, 20), break_long_words=False, break_on_hyphens=False)


def _styled(text: str, **style: Any) -> str:
    return text if os.environ.get("NO_COLOR") else typer.style(text, **style)


def _panels(command: Any) -> dict[str, list[Row]]:
    panels: dict[str, list[Row]] = {"Arguments": [], "Options": []}
    for parameter in parameters_of(command):
        heading = parameter.panel or ("Arguments" if parameter.is_argument else "Options")
        panels.setdefault(heading, []).append((_name(parameter), parameter.description))
    if any(parameter.name == "install_completion" for parameter in command.params):
        panels["Options"] += _COMPLETION
    panels["Options"].append(_HELP)
    for name, subcommand in getattr(command, "commands", {}).items():
        text = inspect.cleandoc(subcommand.help or "").split("\n\n")[0]
        panels.setdefault(subcommand.rich_help_panel or "Commands", []).append((name, text))
    return {heading: rows for heading, rows in panels.items() if rows}


def _name(parameter: Parameter) -> str:
    return " ".join(filter(None, [", ".join(parameter.spellings), parameter.value]))
