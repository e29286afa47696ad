"""Bounds operations of a chat template whose result may be large: each is measured before it runs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any

from jinja2 import Environment, TemplateRuntimeError, pass_environment
from jinja2.filters import do_indent, make_attrgetter

MAX_VALUE_SIZE = 1 << 20  # characters, or elements, of one value while rendering
MAX_NUMBER_BITS = 1 << 12
MAX_INDENT = 64


class TemplateLimit(TemplateRuntimeError):
    """The template exceeds its limits of time or memory."""


def measured(value: Any) -> Any:
    """`value`, once its text is known to be short: a list that holds one list many times prints long."""
    remaining = MAX_VALUE_SIZE
    pending = [value]
    while pending:
        item = pending.pop()
        remaining -= 1
        if isinstance(item, str):
            remaining -= len(item)
        elif isinstance(item, int):
            remaining -= item.bit_length() // 3
        elif isinstance(item, Mapping):
            pending.extend(item.keys())
            pending.extend(item.values())
        elif isinstance(item, list | tuple):
            pending.extend(item)
        if remaining < 0:
            raise TemplateLimit(f"a value prints longer than {MAX_VALUE_SIZE} characters")
    return value


def to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """The filter `tojson`, with the defaults of transformers."""
    if indent is not None and indent > MAX_INDENT:
        raise TemplateLimit(f"an indent of {indent} characters ({MAX_INDENT} allowed)")
    if separators is not None:
        check_size(sum(map(len, separators)) * MAX_INDENT)
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def bounded_indent(text: str, width: int | str = 4, first: bool = False, blank: bool = False) -> str:
    """The filter `indent`."""
    padding = width if isinstance(width, int) else len(width)
    if padding > MAX_INDENT:
        raise TemplateLimit(f"an indent of {padding} characters ({MAX_INDENT} allowed)")
    check_size(len(text) + padding * (text.count("\n") + 1))
    return str(do_indent(text, width, first, blank))


def measuring(function: Callable[..., Any]) -> Callable[..., Any]:
    """The filter `function` for arguments whose text is short; any filter may turn its arguments to text."""

    @wraps(function)
    def bounded(*args: Any, **kwargs: Any) -> Any:
        for value in (*args, *kwargs.values()):
            measured(value)
        return function(*args, **kwargs)

    return bounded


@pass_environment
def attr_filter(environment: Environment, value: Any, name: str) -> Any:
    """The filter `attr`, by the same rules as a dot."""
    return environment.getattr(value, str(name))


def format_filter(template: str, *args: Any, **kwargs: Any) -> str:
    """The filter `format`."""
    return bounded_format(template, kwargs or args)


def bounded_format(template: str, values: object) -> str:
    """`template % values`."""
    if re.search(r"%(\([^)]*\))?[^%a-zA-Z]*(\d{4,}|\*)", template):
        raise TemplateLimit("a format pads to a width that no chat template needs")
    operands = values.values() if isinstance(values, dict) else values if isinstance(values, tuple) else [values]
    longest = max((len(str(measured(value))) for value in operands), default=0)
    check_size(len(template) + template.count("%") * (longest + 1000))
    return template % values


def bounded_replace(text: str, old: str, new: str, count: int | None = None) -> str:
    """The filter and the method `replace`."""
    check_size(len(text) + text.count(old) * len(new))
    return text.replace(old, new, -1 if count is None else count)


def bounded_join(separator: str, values: Iterable[Any]) -> str:
    """The method `join`."""
    texts: list[str] = []
    size = 0
    for value in values:
        texts.append(str(measured(value)))
        size += len(texts[-1]) + len(separator)
        check_size(size)
    return separator.join(texts)


@pass_environment
def join_filter(
    environment: Environment, values: Iterable[Any], d: str = "", attribute: str | int | None = None
) -> str:
    """The filter `join`."""
    if attribute is not None:
        values = map(make_attrgetter(environment, attribute), values)
    return bounded_join(d, values)


def size_of(value: Any) -> int:
    """The length of a text or list, 0 for anything else."""
    return len(value) if isinstance(value, str | list | tuple) else 0


def check_size(size: int) -> None:
    """Raises TemplateLimit if a value would have too many elements."""
    if size > MAX_VALUE_SIZE:
        raise TemplateLimit(f"a value would have {size} elements ({MAX_VALUE_SIZE} allowed)")


def check_number(operator: str, left: int, right: int) -> None:
    """Raises TemplateLimit if the result of an operation on integers would be too large."""
    left_bits, right_bits = left.bit_length(), right.bit_length()
    bits = left_bits * max(right, 0) if operator == "**" else left_bits + right_bits
    if bits > MAX_NUMBER_BITS:
        raise TemplateLimit(f"a number would have {bits} bits ({MAX_NUMBER_BITS} allowed)")
