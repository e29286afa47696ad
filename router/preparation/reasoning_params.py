"""Reasoning of a job before its answer: markup, budget, and a grammar that begins after the reasoning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cactus_actors.api.reasoning_options import ReasoningRequest
from cactus_actors.protocol.errors import InvalidRequest, NotSupported
from cactus_actors.protocol.sampling_params import UNLIMITED, ReasoningParams
from cactus_actors.reasoning import MARKUPS
from cactus_actors.router.preparation.prompt_model import PromptModel
from cactus_actors.text.chat_prompt import ChatPrompt
from cactus_actors.tools.tool_offer import JSON_FORMS, ToolOffer

_OF_MESSAGES = (
    "enable_thinking",
    "thinking_budget",
    "reasoning_effort",
    "chat_template_kwargs",
)


def check_prompt(given: Mapping[str, Any]) -> None:
    """Raise InvalidRequest for options that need a chat template."""
    for name in _OF_MESSAGES:
        if name in given:
            raise InvalidRequest(f"{name} goes with messages, not with a prompt", param=name)


def check_form_beside_tools(form: str | None, offer: ToolOffer, model: PromptModel) -> None:
    """Raise NotSupported for a model that writes calls and text in channels, where only one of them can be enforced."""
    may_be_either = form in JSON_FORMS and offer.tools is not None and not offer.is_forced
    if may_be_either and model.reasoning is not None and MARKUPS[model.reasoning.markup].has_channels:
        raise NotSupported(f"{form} and tools exclude each other for {model.name}", param=form)


def reasoning_params(
    asked: ReasoningRequest, prompt: ChatPrompt, model: PromptModel, *, has_grammar: bool, has_tools: bool
) -> ReasoningParams | None:
    """The parameters by which the worker separates reasoning from the answer; None without reasoning markup.

    Raises NotSupported for a budget that cannot be enforced.
    """
    if model.reasoning is None:
        if asked.budget != UNLIMITED and prompt.thinks:
            raise NotSupported(
                f"thinking_budget is not supported for {model.name}: its reasoning markup is unknown",
                param="thinking_budget",
            )
        return None
    is_plain = has_grammar and not _precedes(prompt, model)
    budget = 0 if asked.enabled is False else asked.budget
    return ReasoningParams(
        markup=model.reasoning.markup,
        start="answer" if is_plain else prompt.start,
        budget=budget,
        close_ids=() if budget == UNLIMITED else _close_ids(model, has_tools),
        keeps_space=has_grammar,
    )


def grammar_after(grammar: str, prompt: ChatPrompt, model: PromptModel, *, is_call: bool) -> str:
    """The grammar of the whole output, given the grammar of the answer."""
    if not grammar or model.reasoning is None or not _precedes(prompt, model):
        return grammar
    from cactus_actors.structured import after_reasoning

    return after_reasoning(grammar, model.reasoning.markup, model.tokenizer, start=prompt.start, is_call=is_call)


def _precedes(prompt: ChatPrompt, model: PromptModel) -> bool:
    """True if reasoning, or the heading of a message, may come before the answer."""
    assert model.reasoning is not None
    return prompt.thinks or (MARKUPS[model.reasoning.markup].has_channels and prompt.start != "answer")


def _close_ids(model: PromptModel, has_tools: bool) -> tuple[int, ...]:
    """The tokens that end reasoning; if messages have channels, those that begin the answer's or any next one.

    Raises NotSupported if the vocabulary cannot express them.
    """
    assert model.reasoning is not None
    markup = MARKUPS[model.reasoning.markup]
    text = markup.closes[0]
    if markup.has_channels:
        text += "<|start|>assistant" if has_tools else markup.answers[0][0]
    ids = tuple(model.tokenizer.encode(text, add_special=False))
    visible = dict(model.reasoning.tokens)
    pieces = (visible[i].encode() if i in visible else model.tokenizer.token_bytes(i) for i in ids)
    if markup.closes[0].encode() not in b"".join(pieces):
        raise NotSupported(f"the vocabulary of {model.name} cannot write {markup.closes[0]!r}", param="thinking_budget")
    return ids
