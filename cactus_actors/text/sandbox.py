"""The jinja2 environment of chat templates: no code, no files, and bounds on time and size.

A template comes with a model, so it is not trusted. The sandbox of jinja2 keeps it from reaching Python, but has no
limits. Here every loop and macro spends from a budget of time and output, operations whose result may be much
larger than their operands are measured first, and only bounded filters and methods exist.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import BuiltinMethodType
from typing import Any, NoReturn

from jinja2 import (
    TemplateRuntimeError,
    TemplateSyntaxError,
    nodes,
    pass_context,
)
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from cactus_actors.text import template_bounds as bounds
from cactus_actors.text.template_format import BoundedFormatter

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


class TemplateUnsafe(TemplateRuntimeError):
    """The template accesses something that no chat template may see."""


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
            "attr": bounds.attr_filter,
            "format": bounds.format_filter,
            "indent": bounds.bounded_indent,
            "join": bounds.join_filter,
            "replace": bounds.bounded_replace,
            "string": str,
            "tojson": bounds.to_json,
        }
        self.filters = {name: bounds.measuring(function) for name, function in self.filters.items()}
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

    def unsafe_undefined(self, obj: Any, attribute: str) -> NoReturn:
        raise TemplateUnsafe(f"unsafe attribute {attribute!r} of {type(obj).__name__!r}")

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """`str.format` within bounds; None for anything but this method."""
        text = value.__self__ if isinstance(value, BuiltinMethodType) and value.__name__ == "format" else None
        if not isinstance(text, str):
            return None
        return lambda *args, **kwargs: BoundedFormatter(self).vformat(text, args, kwargs)

    def getattr(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, str) and attribute == "replace":
            return partial(bounds.bounded_replace, obj)
        if isinstance(obj, str) and attribute == "join":
            return partial(bounds.bounded_join, obj)
        return super().getattr(obj, attribute)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if operator == "%" and isinstance(left, str):
            return bounds.bounded_format(left, right)
        if isinstance(left, int) and isinstance(right, int):
            bounds.check_number(operator, left, right)
        elif operator == "*":
            times = next((value for value in (left, right) if isinstance(value, int)), 1)
            bounds.check_size(max(times, 0) * max(bounds.size_of(left), bounds.size_of(right)))
        elif operator == "+":
            bounds.check_size(bounds.size_of(left) + bounds.size_of(right))
        return super().call_binop(context, operator, left, right)


class GenerationBlocks(Extension):
    """`{% generation %}` marks an assistant's text for training; here it only encloses its body."""

    tags = {"generation"}  # noqa: RUF012  jinja2 declares it so

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """The statements of the body alone."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class _Bounded(NodeTransformer):
    """Charges every repeated body to the budget, and makes `a ~ b` a sum, which call_binop measures."""

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
        first, *others = (nodes.Filter(item, "string", [], [], None, None, lineno=line) for item in node.nodes)
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


@pass_context
def _spend_output(context: Context, value: Any) -> Any:
    context.resolve(BUDGET)(bounds.size_of(value))
    return bounds.measured(value)
