"""Renders messages as prompt text with the model's own chat template."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

from jinja2 import Template, TemplateError, TemplateSyntaxError, meta

from cactus_actors.models.checked_files import invalid
from cactus_actors.protocol.errors import TemplateInvalid
from cactus_actors.text.plain_data import plain_data
from cactus_actors.text.reasoning_support import SWITCHES, PastReasoning, without_reasoning
from cactus_actors.text.sandbox import BUDGET, TemplateEnvironment
from cactus_actors.text.template_bounds import TemplateLimit
from cactus_actors.text.template_messages import with_content, with_decoded_arguments
from cactus_actors.text.template_rendering import (
    MAX_SHOWN_CHARACTERS,
    MAX_TEMPLATE_CHARACTERS,
    RenderBudget,
    failure_in_words,
    joined,
)


@dataclass(frozen=True)
class ChatTemplate:
    """A compiled template; `special_tokens` (bos_token, eos_token, ...) are visible to it by name.

    `reasoning_switches` are the variables that switch reasoning on or off; `past_reasoning` is its form of earlier
    turns' reasoning.
    """

    template: Template
    special_tokens: Mapping[str, str]
    reasoning_switches: tuple[str, ...] = ()
    past_reasoning: PastReasoning = field(default_factory=lambda: PastReasoning(""))

    @classmethod
    def compile(cls, source: str, path: Path, special_tokens: Mapping[str, str]) -> ChatTemplate:
        """The template in `source`; ModelFileInvalid names `path` and the line if it does not compile."""
        if len(source) > MAX_TEMPLATE_CHARACTERS:
            raise invalid(path, f"a chat template of {len(source)} characters ({MAX_TEMPLATE_CHARACTERS} allowed)")
        environment = TemplateEnvironment()
        environment.globals |= {"raise_exception": _raise_exception, "strftime_now": _strftime_now}
        try:
            template = environment.from_string(source)
            names = meta.find_undeclared_variables(environment.parse(source))
            switches = tuple(name for name in SWITCHES if name in names)
            return cls(template, special_tokens, switches, PastReasoning(source))
        except TemplateSyntaxError as error:
            raise invalid(path, f"line {error.lineno} of the chat template: {error.message}") from error
        except (TemplateError, SyntaxError, ValueError, RecursionError, MemoryError, TypeError) as error:
            raise invalid(path, f"the chat template does not compile: {error}") from error

    def render(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = True,
        *,
        escape: Callable[[str], str] = str,
        thinking: bool | None = None,
        variables: Mapping[str, Any] | None = None,
        tools_name: str = "tools",
    ) -> str:
        """The prompt text of a conversation.

        Tool calls may have their arguments as JSON text, as OpenAI writes them: the template gets objects, as from
        transformers, or the text if it cannot handle objects. `escape` is applied to every string in `messages`,
        `tools` and `variables` before the template sees it. `thinking` sets its switches of reasoning, None leaves
        them unset. Reasoning of earlier turns is omitted if the template does not render it. The tools are the
        variable `tools_name`. Raises TemplateInvalid with the template's line for all errors, including the limits
        of this module.
        """
        budget = RenderBudget()
        given = _plain_variables(variables or {}, escape)
        if thinking is not None:
            given |= dict.fromkeys(self.reasoning_switches, thinking)
        first_error: TemplateInvalid | None = None
        for form in self._forms(with_content(messages)):
            try:
                return self._rendered(form, tools, tools_name, add_generation_prompt, escape, given, budget)
            except TemplateInvalid as error:
                first_error = first_error or error
        assert first_error is not None, "there is one form at least"
        raise first_error from None

    def _forms(self, messages: Sequence[Mapping[str, Any]]) -> Iterator[Sequence[Mapping[str, Any]]]:
        """The forms in which the template may accept the messages, each once, the most complete first."""
        tried: list[Sequence[Mapping[str, Any]]] = []
        for reasoning_form in (self.past_reasoning.given, without_reasoning):
            conversation = reasoning_form(messages)
            for form in (with_decoded_arguments(conversation), conversation):
                if form not in tried:
                    tried.append(form)
                    yield form

    def _rendered(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None,
        tools_name: str,
        add_generation_prompt: bool,
        escape: Callable[[str], str],
        given: Mapping[str, Any],
        budget: RenderBudget,
    ) -> str:
        variables = {
            "documents": None,
            **given,
            "messages": plain_data(list(messages), escape),
            "tools": None,
            tools_name: plain_data(list(tools), escape) if tools else None,
            "add_generation_prompt": add_generation_prompt,
            **self.special_tokens,
            BUDGET: budget,
        }
        try:
            return joined(self.template.generate(variables))
        except TemplateInvalid:
            raise
        except Exception as error:  # a template can make any operator or filter fail in its own way
            raise TemplateInvalid(failure_in_words(error, "the chat template"), param="messages") from error


def _plain_variables(variables: Mapping[str, Any], escape: Callable[[str], str]) -> dict[str, Any]:
    try:
        given: dict[str, Any] = plain_data(variables, escape)
    except TemplateInvalid as error:
        raise TemplateInvalid("chat_template_kwargs is nested too deep", param="chat_template_kwargs") from error
    return given


class _Refused(TemplateError):
    """The template itself called raise_exception."""


def _raise_exception(message: object) -> NoReturn:
    raise _Refused(str(message))


def _strftime_now(pattern: str) -> str:
    if len(pattern) > MAX_SHOWN_CHARACTERS or re.search(r"\d\d\d", pattern):
        raise TemplateLimit("a date format pads to a width that no chat template needs")
    return datetime.now().astimezone().strftime(pattern)
