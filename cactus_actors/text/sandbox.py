"""The jinja2 environment of chat templates: no code, no files, and bounds on time and size.

A template comes with a model, so it is not trusted. The sandbox of jinja2 keeps it from reaching Python; what
it lacks is bounds. Here every loop and macro spends from a budget of time and output, every operation that
can make a value much larger than its operands is measured first, and only filters and methods that are known
to be bounded exist.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from jinja2 import (
    Environment,
    TemplateRuntimeError,
    TemplateSyntaxError,
    nodes,
    pass_context,
    pass_environment,
)
from jinja2.ext import Extension, loopcontrols
from jinja2.filters import do_indent, make_attrgetter
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

MAX_VALUE_SIZE = 1 << 20  # characters, or elements, of one value while rendering
MAX_NUMBER_BITS = 1 << 12
MAX_INDENT = 64

BUDGET = "cactus_budget"

_FILTER_NAMES = """
    abs attr capitalize count d default dictsort e escape first float forceescape format groupby indent int
    items join last length list lower map max min reject rejectattr replace reverse safe select selectattr
    sort string title tojson trim truncate unique upper wordcount
"""
_TEXT_METHODS = """
    capitalize count endswith find index isalnum isalpha isdecimal isdigit islower isnumeric isspace istitle
    isupper lower lstrip partition removeprefix removesuffix rfind rindex rpartition rsplit rstrip split
    splitlines startswith strip title upper
"""
_METHODS: Mapping[type, frozenset[str]] = {
    str: frozenset(_TEXT_METHODS.split()),
    dict: frozenset({"get", "items", "keys", "values"}),
    list: frozenset({"count", "index"}),
    tuple: frozenset({"count", "index"}),
    int: frozenset(),
    float: frozenset(),
}


class TemplateLimit(TemplateRuntimeError):
    """The template would take more time or memory than a chat template may."""


class TemplateEnvironment(ImmutableSandboxedEnvironment):
    """Compiles chat templates as transformers does, inside the bounds of this module.

    A template is rendered with a callable under the name BUDGET, which takes a number of characters that are
    about to be written and raises TemplateLimit once too much time or output is spent.
    """

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[loopcontrols, GenerationBlocks],
            finalize=_spend_output,
        )
        self.filters = {name: self.filters[name] for name in _FILTER_NAMES.split()}
        self.filters |= {
            "format": _format_filter,
            "indent": _bounded_indent,
            "join": _join_filter,
            "replace": _bounded_replace,
            "string": _string_filter,
            "tojson": _to_json,
        }
        del self.globals["lipsum"]

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        template = super()._parse(source, name, filename)
        bounded: nodes.Template = _Bounded().visit(template)
        bounded.set_environment(self)
        return bounded

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        for kind, allowed in _METHODS.items():
            if isinstance(obj, kind) and attr not in allowed:
                return False
        return super().is_safe_attribute(obj, attr, value)

    def getattr(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, str) and attribute == "replace":
            return partial(_bounded_replace, obj)
        if isinstance(obj, str) and attribute == "join":
            return partial(_bounded_join, obj)
        return super().getattr(obj, attribute)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if operator == "%" and isinstance(left, str):
            return _bounded_format(left, right)
        if isinstance(left, int) and isinstance(right, int):
            _check_number(operator, left, right)
        elif operator == "*":
            times = next((value for value in (left, right) if isinstance(value, int)), 1)
            _check_size(max(times, 0) * max(_size(left), _size(right)))
        elif operator == "+":
            _check_size(_size(left) + _size(right))
        return super().call_binop(context, operator, left, right)


class GenerationBlocks(Extension):
    """`{% generation %}` marks what an assistant said, for training; here it only encloses its body."""

    tags = {"generation"}  # noqa: RUF012  jinja2 declares it so

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """The statements of the body alone."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class _Bounded(NodeTransformer):
    """Lets every repeated body spend from the budget, and makes `a ~ b` a sum, which call_binop measures."""

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802  the visitor's way to name node types
        return self._spending(node)

    visit_Macro = visit_CallBlock = visit_Block = visit_For  # noqa: N815

    def visit_Name(self, node: nodes.Name) -> nodes.Node:  # noqa: N802
        if node.name == BUDGET:
            raise TemplateSyntaxError(f"the name {BUDGET} is taken", node.lineno)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        line = node.lineno
        first, *others = (
            nodes.Filter(item, "string", [], [], None, None, lineno=line) for item in node.nodes
        )
        total: nodes.Expr = first
        for text in others:
            total = nodes.Add(total, text, lineno=line)
        return total

    def _spending(self, node: nodes.For) -> nodes.Node:
        self.generic_visit(node)
        size = sum(len(data.data) for child in node.body for data in child.find_all(nodes.TemplateData))
        call = nodes.Call(
            nodes.Name(BUDGET, "load", lineno=node.lineno),
            [nodes.Const(size, lineno=node.lineno)],
            [],
            None,
            None,
            lineno=node.lineno,
        )
        node.body.insert(0, nodes.ExprStmt(call, lineno=node.lineno))
        return node


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


@pass_context
def _spend_output(context: Context, value: Any) -> Any:
    context.resolve(BUDGET)(_size(value))
    return measured(value)


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    if indent is not None and indent > MAX_INDENT:
        raise TemplateLimit(f"an indent of {indent} characters ({MAX_INDENT} allowed)")
    measured(value)
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def _bounded_indent(text: str, width: int | str = 4, first: bool = False, blank: bool = False) -> str:
    padding = width if isinstance(width, int) else len(width)
    if padding > MAX_INDENT:
        raise TemplateLimit(f"an indent of {padding} characters ({MAX_INDENT} allowed)")
    _check_size(len(text) + padding * (text.count("\n") + 1))
    return str(do_indent(text, width, first, blank))


def _string_filter(value: Any) -> str:
    return str(measured(value))


def _format_filter(template: str, *args: Any, **kwargs: Any) -> str:
    return _bounded_format(template, kwargs or args)


def _bounded_format(template: str, values: object) -> str:
    if re.search(r"%(\([^)]*\))?[^%a-zA-Z]*(\d{4,}|\*)", template):
        raise TemplateLimit("a format pads to a width that no chat template needs")
    operands = (
        values.values() if isinstance(values, dict) else values if isinstance(values, tuple) else [values]
    )
    longest = max((len(str(measured(value))) for value in operands), default=0)
    _check_size(len(template) + template.count("%") * (longest + 1000))
    return template % values


def _bounded_replace(text: str, old: str, new: str, count: int | None = None) -> str:
    _check_size(len(text) + text.count(old) * len(new))
    return text.replace(old, new, -1 if count is None else count)


def _bounded_join(separator: str, values: Iterable[Any]) -> str:
    texts = [str(measured(value)) for value in values]
    _check_size(sum(map(len, texts)) + len(separator) * len(texts))
    return separator.join(texts)


@pass_environment
def _join_filter(
    environment: Environment, values: Iterable[Any], d: str = "", attribute: str | int | None = None
) -> str:
    if attribute is not None:
        values = map(make_attrgetter(environment, attribute), values)
    return _bounded_join(d, values)


def _size(value: Any) -> int:
    return len(value) if isinstance(value, str | list | tuple) else 0


def _check_size(size: int) -> None:
    if size > MAX_VALUE_SIZE:
        raise TemplateLimit(f"a value would have {size} elements ({MAX_VALUE_SIZE} allowed)")


def _check_number(operator: str, left: int, right: int) -> None:
    left_bits, right_bits = left.bit_length(), right.bit_length()
    bits = left_bits * max(right, 0) if operator == "**" else left_bits + right_bits
    if bits > MAX_NUMBER_BITS:
        raise TemplateLimit(f"a number would have {bits} bits ({MAX_NUMBER_BITS} allowed)")
