"""The help of a command: what it does, its arguments and its options, in two columns."""

from __future__ import annotations

import inspect
from typing import Any

from rich.console import Console
from rich.markdown import Markdown
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cactus_actors.cli.parameters import Parameter, parameters_of

MAX_NAME = 27
"""Width of the column of names; the description of a longer name begins below it."""
_HELP = ("-h, --help", "Show this message and exit.")
_COMPLETION = (
    ("--install-completion", "Install completion of commands and options for the current shell."),
    ("--show-completion", "Print the script of that completion."),
)

Row = tuple[str, str]


def help_page(command: Any, context: Any) -> str:
    """The page as text, with the colours of the terminal."""
    console = Console(highlight=False)
    with console.capture() as capture:
        console.print(Text(command.get_usage(context), style="bold"))
        console.print(Padding(Markdown(inspect.cleandoc(command.help or "")), (1, 0, 0, 0)))
        panels = _panels(command)
        names = [name for rows in panels.values() for name, _ in rows]
        width = max(len(name) for name in names if len(name) <= MAX_NAME)
        for heading, rows in panels.items():
            console.print(Text(f"\n{heading}", style="bold"))
            for row in rows:
                _print_row(console, *row, width)
    return "\n".join(line.rstrip() for line in capture.get().split("\n"))


def _print_row(console: Console, name: str, text: str, width: int) -> None:
    shown = Text(f"  {name}", style="cyan")
    if len(name) > width:
        console.print(shown)
        shown = Text()
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=width + 2, no_wrap=True)
    table.add_column()
    table.add_row(shown, Markdown(text))
    console.print(table)


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
