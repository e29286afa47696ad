"""Messages to prompt text by the model's own chat template."""

from __future__ import annotations

import re
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

from jinja2 import Template, TemplateError, TemplateSyntaxError, meta

from cactus_actors.models.files import invalid
from cactus_actors.protocol.errors import TemplateInvalid
from cactus_actors.text.plain_data import plain_data
from cactus_actors.text.sandbox import BUDGET, TemplateEnvironment
from cactus_actors.text.template_bounds import TemplateLimit
from cactus_actors.text.template_messages import with_content, with_decoded_arguments

MAX_TEMPLATE_CHARACTERS = 1 << 20
MAX_PROMPT_CHARACTERS = 4 << 20
MAX_SPENT_CHARACTERS = 64 << 20  # written anywhere while rendering, captured or repeated text included
MAX_RENDER_S = 2.0
MAX_SHOWN_CHARACTERS = 500

# Python shows objects with their place in memory, which is nobody's business.
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
# Qwen and SmolLM; Granite and DeepSeek
_REASONING_SWITCHES = ("enable_thinking", "thinking")


@dataclass(frozen=True)
class ChatTemplate:
    """A compiled template; `special_tokens` (bos_token, eos_token, ...) are visible to it by name.

    `reasoning_switches` are the variables that make it ask the model to reason before it answers.
    """

    template: Template
    special_tokens: Mapping[str, str]
    reasoning_switches: tuple[str, ...] = ()

    @classmethod
    def compile(cls, source: str, path: Path, special_tokens: Mapping[str, str]) -> ChatTemplate:
        """The template in `source`; ModelFileInvalid names `path` and the line if it does not compile."""
        if len(source) > MAX_TEMPLATE_CHARACTERS:
            raise invalid(
                path, f"a chat template of {len(source)} characters ({MAX_TEMPLATE_CHARACTERS} allowed)"
            )
        environment = TemplateEnvironment()
        environment.globals |= {"raise_exception": _raise_exception, "strftime_now": _strftime_now}
        try:
            template = environment.from_string(source)
            names = meta.find_undeclared_variables(environment.parse(source))
            switches = tuple(name for name in _REASONING_SWITCHES if name in names)
            return cls(template, special_tokens, switches)
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
        switched_on: Sequence[str] = (),
    ) -> str:
        """The prompt text of a conversation.

        Tool calls may have their arguments as JSON text, as OpenAI writes them: the template gets objects,
        as transformers gives them, or the text where it cannot do with objects. `escape` is applied to every
        string in `messages` and `tools` before the template sees it. The variables `switched_on` are true.
        Raises TemplateInvalid with the template's line for whatever goes wrong, the limits of this module
        included.
        """
        budget = _Budget(time.thread_time() + MAX_RENDER_S)
        messages = with_content(messages)
        decoded = with_decoded_arguments(messages)
        try:
            return self._rendered(decoded, tools, add_generation_prompt, escape, switched_on, budget)
        except TemplateInvalid as error:
            if decoded == messages:
                raise
            try:
                return self._rendered(messages, tools, add_generation_prompt, escape, switched_on, budget)
            except TemplateInvalid:
                raise error from None

    def _rendered(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None,
        add_generation_prompt: bool,
        escape: Callable[[str], str],
        switched_on: Sequence[str],
        budget: _Budget,
    ) -> str:
        variables = {
            "messages": plain_data(list(messages), escape),
            "tools": plain_data(list(tools), escape) if tools else None,
            "documents": None,
            "add_generation_prompt": add_generation_prompt,
            **dict.fromkeys(switched_on, True),
            **self.special_tokens,
            BUDGET: budget,
        }
        try:
            return _joined(self.template.generate(variables))
        except TemplateInvalid:
            raise
        except Exception as error:  # a template can make any operator or filter fail in its own way
            what = f"{type(error).__name__}: {error}" if not isinstance(error, TemplateError) else str(error)
            line = _line_of(error)
            where = f"line {line} of the chat template" if line else "the chat template"
            shown = _ADDRESS.sub("", what[:MAX_SHOWN_CHARACTERS])
            raise TemplateInvalid(f"{where}: {shown}", param="messages") from error


class _Budget:
    """The output and the CPU time left to one rendering: what other threads do costs it none."""

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline
        self._remaining = MAX_SPENT_CHARACTERS

    def __call__(self, num_characters: int) -> None:
        self._remaining -= num_characters
        if self._remaining < 0:
            raise TemplateLimit("the template writes too much")
        if time.thread_time() > self._deadline:
            raise TemplateLimit(f"rendering takes longer than {MAX_RENDER_S:g} s")


class _Refused(TemplateError):
    """The template itself called raise_exception."""


def _raise_exception(message: object) -> NoReturn:
    raise _Refused(str(message))


def _strftime_now(pattern: str) -> str:
    if len(pattern) > MAX_SHOWN_CHARACTERS or re.search(r"\d\d\d", pattern):
        raise TemplateLimit("a date format pads to a width that no chat template needs")
    return datetime.now().astimezone().strftime(pattern)


def _joined(chunks: Any) -> str:
    prompt: list[str] = []
    remaining = MAX_PROMPT_CHARACTERS
    for chunk in chunks:
        remaining -= len(chunk)
        if remaining < 0:
            raise TemplateLimit(f"the prompt is longer than {MAX_PROMPT_CHARACTERS} characters")
        prompt.append(chunk)
    return "".join(prompt)


def _line_of(error: Exception) -> int | None:
    """The line of the template that `error` comes from; jinja2 maps its frames back to template lines."""
    lines = [
        frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "<template>"
    ]
    return lines[-1] if lines else None
