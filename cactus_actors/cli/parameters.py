"""Arguments and options of a command in plain words, for its help, its errors and docs/reference/cli.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

_VALUES: dict[Any, str] = {int: "INTEGER", float: "NUMBER", str: "TEXT", Path: "PATH"}
_KINDS: dict[Any, str] = {int: "an integer", float: "a number"}


class Parameter(NamedTuple):
    """One argument or option; `value` is empty for a flag and for an argument, whose name is its spelling.

    `notes` say whether it is required, and its range, default and environment variable.
    """

    panel: str | None
    spellings: list[str]
    value: str
    text: str
    notes: list[str]
    is_argument: bool

    @property
    def description(self) -> str:
        """The text, and the notes in parentheses."""
        return f"{self.text} ({'; '.join(self.notes)})" if self.notes else self.text


def parameters_of(command: Any) -> Iterator[Parameter]:
    """The parameters of a command, without those that typer adds."""
    hints = get_type_hints(command.callback, include_extras=True) if command.callback else {}
    for parameter in command.params:
        if parameter.name in hints and not parameter.hidden:
            yield _described(parameter, _bare(hints[parameter.name]))


def kinds_of(command: Any) -> dict[str, Any]:
    """The types of the values of our own parameters, by their names."""
    hints = get_type_hints(command.callback, include_extras=True) if command.callback else {}
    return {name: _bare(hint) for name, hint in hints.items()}


def wanted_by(command: Any, parameter: Any) -> str | None:
    """The requirement on the value of a parameter, in words; None if any text is valid."""
    kind = kinds_of(command).get(parameter.name)
    if get_origin(kind) is Literal:
        return f"one of {', '.join(get_args(kind))}"
    bounds = _range(parameter)
    return ", ".join(filter(None, [_KINDS[kind], bounds])) if kind in _KINDS else None


def _described(parameter: Any, kind: Any) -> Parameter:
    is_argument = parameter.param_type_name == "argument"
    spellings = [*parameter.opts, *parameter.secondary_opts]
    value = ""
    if is_argument:
        spellings = [parameter.metavar or parameter.name.upper()]
    elif kind is not bool:
        value = parameter.metavar or ("|".join(get_args(kind)) if get_origin(kind) is Literal else _VALUES[kind])
    notes = [note for note in ["required" if parameter.required else "", _range(parameter)] if note]
    if isinstance(parameter.show_default, str):
        notes.append(f"default `{parameter.show_default}`")
    elif not parameter.required and kind is not bool and parameter.default not in (None, [], ()):
        notes.append(f"default `{parameter.default}`")
    if parameter.envvar:
        notes.append(f"or `{parameter.envvar}`")
    return Parameter(parameter.rich_help_panel, spellings, value, parameter.help or "", notes, is_argument)


def _range(parameter: Any) -> str:
    """The bounds of a number; older releases of typer do not keep them with the parameter."""
    low, high = getattr(parameter, "min", None), getattr(parameter, "max", None)
    if high is None:
        return "" if low is None else f"at least {low:g}"
    return f"at most {high:g}" if low is None else f"{low:g} to {high:g}"


def _bare(hint: Any) -> Any:
    """The type of the values, without None, lists and metadata."""
    while get_origin(hint) in (Annotated, Union, UnionType, list):
        hint = next(part for part in get_args(hint) if part is not type(None))
    return hint
