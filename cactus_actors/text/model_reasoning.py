"""Finds a model's reasoning markup in its template and its vocabulary."""

from __future__ import annotations

from dataclasses import dataclass

from cactus_actors.protocol.errors import TemplateInvalid
from cactus_actors.text.chat_template import ChatTemplate
from cactus_actors.text.reasoning_support import (
    markup_in_template,
    markup_in_vocabulary,
    reasoning_tokens_of,
)
from cactus_actors.text.tokenizer import Tokenizer

_QUESTION = [{"role": "user", "content": "Why?"}]


@dataclass(frozen=True)
class ModelReasoning:
    """A model's reasoning markup, a name in `reasoning.MARKUPS`, and the control tokens of the marks.

    It reasons `unasked` unless its template's switches are off by default.
    """

    markup: str
    tokens: tuple[tuple[int, str], ...] = ()
    unasked: bool = True


def reasoning_of(source: str, template: ChatTemplate, tokenizer: Tokenizer) -> ModelReasoning | None:
    """The reasoning found in template and vocabulary; None if neither has any.

    A vocabulary is often shared with a reasoning model of the family: a model with marks only there is assumed not
    to reason unasked.
    """
    markup = markup_in_template(source)
    if markup is not None:
        return ModelReasoning(markup, reasoning_tokens_of(markup, tokenizer), _reasons_by_default(template))
    markup = markup_in_vocabulary(tokenizer)
    if markup is not None:
        return ModelReasoning(markup, reasoning_tokens_of(markup, tokenizer), unasked=False)
    return None


def _reasons_by_default(template: ChatTemplate) -> bool:
    """True if the template's prompt is the same with its switches unset as with them on."""
    if not template.reasoning_switches:
        return True
    try:
        return template.render(_QUESTION) == template.render(_QUESTION, thinking=True)
    except TemplateInvalid:
        return True
