"""Values that are texts, or that are not given, need no conversion.

Typer has pydantic convert every value, also a text to a text. The import of pydantic takes as long as all the rest of
a short command.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cactus_actors.cli.parameters import kind_of


def accept_texts(command: Any, context: Any) -> None:
    """Let the parameters of a command take texts as they are; each checks them in its callback, if it has one."""
    for parameter in command.get_params(context):
        is_text = kind_of(command, parameter) is str
        parameter.process_value = _processing(parameter, parameter.process_value, is_text=is_text)


def _processing(parameter: Any, convert: Callable[[Any, Any], Any], *, is_text: bool) -> Callable[[Any, Any], Any]:
    """The processing of a parameter's value, by `convert` where it must be converted."""
    is_many = parameter.nargs == -1 or getattr(parameter, "multiple", False)

    def process_value(context: Any, value: Any) -> Any:
        if value is None and not parameter.required:
            value = () if is_many else None
        elif is_text and is_many and value and all(isinstance(one, str) for one in value):
            value = [*value]
        elif not (is_text and not is_many and isinstance(value, str)):
            return convert(context, value)
        return value if parameter.callback is None else parameter.callback(context, parameter, value)

    return process_value
