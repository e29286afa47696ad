"""Values that have their type already, or that are not given, need no conversion.

Typer has pydantic convert every value, also a text to a text, and defaults. The import of pydantic takes as long as all
the rest of a short command.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cactus_actors.cli.parameters import kinds_of


def accept_texts(command: Any, context: Any) -> None:
    """Let the parameters of a command take texts as they are; each checks them in its callback, if it has one."""
    kinds = kinds_of(command)
    for parameter in command.get_params(context):
        parameter.process_value = _processing(parameter, parameter.process_value, kinds.get(parameter.name))


def _processing(parameter: Any, convert: Callable[[Any, Any], Any], kind: Any) -> Callable[[Any, Any], Any]:
    """The processing of a parameter's value, by `convert` where it must be converted to its kind."""
    is_many = parameter.nargs == -1 or getattr(parameter, "multiple", False)

    def process_value(context: Any, value: Any) -> Any:
        if value is None and not parameter.required:
            value = () if is_many else None
        elif kind is str and is_many and value and all(isinstance(one, str) for one in value):
            value = [*value]
        elif is_many or type(value) is not kind:
            return convert(context, value)
        return value if parameter.callback is None else parameter.callback(context, parameter, value)

    return process_value
