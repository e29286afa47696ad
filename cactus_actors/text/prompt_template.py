"""Renders the columns of a row as a prompt, within the sandbox of chat templates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import Template, TemplateError, TemplateSyntaxError, meta, nodes

from cactus_actors.protocol.errors import TemplateInvalid
from cactus_actors.text.sandbox import BUDGET, TemplateEnvironment
from cactus_actors.text.template_rendering import MAX_TEMPLATE_CHARACTERS, RenderBudget, failure_in_words, joined

ROW = "row"
"""The variable that has all columns, for names that are no variables."""
_NAME = "the prompt template"


class PromptTemplate:
    """Compiled when it is made; raises TemplateInvalid."""

    def __init__(self, source: str) -> None:
        if len(source) > MAX_TEMPLATE_CHARACTERS:
            raise _invalid(f"{_NAME} has {len(source)} characters ({MAX_TEMPLATE_CHARACTERS} allowed)")
        environment = TemplateEnvironment()
        try:
            self._template: Template = environment.from_string(source)
            parsed = environment.parse(source)
            names = meta.find_undeclared_variables(parsed)
        except TemplateSyntaxError as error:
            raise _invalid(f"line {error.lineno} of {_NAME}: {error.message}") from error
        except (TemplateError, SyntaxError, ValueError, RecursionError, MemoryError, TypeError) as error:
            raise _invalid(f"{_NAME} does not compile: {error}") from error
        self._of_row = _constant_columns(parsed) if ROW in names else set()
        self._names = names - {BUDGET}
        self._functions = environment.globals.keys()

    def used(self, columns: Sequence[str]) -> list[str]:
        """Those of the columns that it uses, in their order."""
        if self._of_row is None:
            return list(columns)
        return [name for name in columns if name in self._names | self._of_row]

    def missing(self, columns: Sequence[str]) -> list[str]:
        """The names in it that are no columns."""
        variables = self._names - {ROW} - self._functions
        return sorted((variables | (self._of_row or set())) - set(columns))

    def render(self, row: Mapping[str, Any]) -> str:
        """The prompt of a row, a missing value of which is empty text; raises TemplateInvalid."""
        columns = {name: "" if value is None else value for name, value in row.items()}
        try:
            return joined(self._template.generate({**columns, ROW: columns, BUDGET: RenderBudget()}))
        except Exception as error:  # a template can make any operator or filter fail in its own way
            raise _invalid(failure_in_words(error, _NAME)) from error


def _constant_columns(template: nodes.Template) -> set[str] | None:
    """The columns that it takes from `row` by name; None if it also uses `row` in other ways."""
    found: set[str] = set()
    parts: list[nodes.Getitem | nodes.Getattr] = [*template.find_all(nodes.Getitem), *template.find_all(nodes.Getattr)]
    for part in parts:
        if isinstance(part.node, nodes.Name) and part.node.name == ROW:
            name = part.attr if isinstance(part, nodes.Getattr) else _constant(part.arg)
            if not isinstance(name, str) or (isinstance(part, nodes.Getattr) and hasattr(dict, name)):
                return None
            found.add(name)
            part.node = nodes.Const(None)
    is_used_otherwise = any(name.name == ROW for name in template.find_all(nodes.Name))
    return None if is_used_otherwise else found


def _constant(part: nodes.Node) -> Any:
    return part.value if isinstance(part, nodes.Const) else None


def _invalid(message: str) -> TemplateInvalid:
    return TemplateInvalid(message, param="prompt_template")
