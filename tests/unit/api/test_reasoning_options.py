"""Reasoning options of requests in all spellings, and contradictions between them."""

from __future__ import annotations

from typing import Any

import pytest

from cactus_actors.api.openai import request_from_chat
from cactus_actors.api.option_rules import given_options
from cactus_actors.api.params import resolve_options
from cactus_actors.api.reasoning_options import (
    MAX_TEMPLATE_VARIABLES,
    ReasoningRequest,
    reasoning_request,
)
from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.options import Options

NO_BUDGET = -1


def asked(**options: Any) -> ReasoningRequest:
    return reasoning_request(given_options(Options(**options)))


def refused(**options: Any) -> InvalidRequest:
    with pytest.raises(InvalidRequest) as caught:
        resolve_options(Options(**options))
    return caught.value


def from_chat(**fields: Any) -> Options:
    body = {"messages": [{"role": "user", "content": "Hi"}], **fields}
    return request_from_chat(body, lambda _: "0" * 32).submits[0].options


@pytest.mark.parametrize(
    ("options", "enabled", "budget", "variables"),
    [
        ({}, None, NO_BUDGET, {}),
        ({"enable_thinking": False}, False, NO_BUDGET, {}),
        ({"thinking_budget": 7}, None, 7, {"thinking_budget": 7}),
        ({"thinking_budget": 0}, False, 0, {"thinking_budget": 0}),
        ({"thinking_budget": 0, "enable_thinking": True}, True, 0, {"thinking_budget": 0}),
        ({"thinking_budget": -1}, None, NO_BUDGET, {}),
        ({"reasoning_effort": "high"}, True, NO_BUDGET, {"reasoning_effort": "high"}),
        ({"reasoning_effort": "none"}, False, NO_BUDGET, {"reasoning_effort": "none"}),
        (
            {"reasoning_effort": "low", "enable_thinking": False},
            False,
            NO_BUDGET,
            {"reasoning_effort": "low"},
        ),
        ({"prompt_mode": "reasoning"}, True, NO_BUDGET, {}),
        ({"chat_template_kwargs": {"enable_thinking": True}}, True, NO_BUDGET, {}),
        ({"chat_template_kwargs": {"thinking": False}}, False, NO_BUDGET, {}),
        ({"chat_template_kwargs": {"thinking": True}, "enable_thinking": True}, True, NO_BUDGET, {}),
        ({"chat_template_kwargs": {"thinking_budget": 5}}, None, 5, {"thinking_budget": 5}),
        (
            {"chat_template_kwargs": {"tone": ["dry"], "x": None}},
            None,
            NO_BUDGET,
            {"tone": ["dry"], "x": None},
        ),
    ],
)
def test_combined_reasoning_options_are_resolved(
    options: dict[str, Any], enabled: bool | None, budget: int, variables: dict[str, Any]
) -> None:
    assert asked(**options) == ReasoningRequest(enabled, budget, variables)


@pytest.mark.parametrize(
    ("options", "param"),
    [
        ({"thinking_budget": -2}, "thinking_budget"),
        ({"thinking_budget": 2**31}, "thinking_budget"),
        ({"chat_template_kwargs": {"thinking_budget": -2}}, "chat_template_kwargs.thinking_budget"),
        ({"chat_template_kwargs": {"thinking_budget": True}}, "chat_template_kwargs.thinking_budget"),
        ({"chat_template_kwargs": {"enable_thinking": "yes"}}, "chat_template_kwargs.enable_thinking"),
        ({"reasoning_effort": "enormous"}, "reasoning_effort"),
        ({"reasoning_effort": "none", "enable_thinking": True}, "reasoning_effort"),
        ({"reasoning_effort": "none", "prompt_mode": "reasoning"}, "reasoning_effort"),
        ({"prompt_mode": "reasoning", "enable_thinking": False}, "prompt_mode"),
        ({"enable_thinking": True, "chat_template_kwargs": {"enable_thinking": False}}, "enable_thinking"),
        ({"enable_thinking": True, "chat_template_kwargs": {"thinking": False}}, "enable_thinking"),
        (
            {"reasoning_effort": "low", "chat_template_kwargs": {"reasoning_effort": "high"}},
            "reasoning_effort",
        ),
        *(
            ({"chat_template_kwargs": {name: 1}}, "chat_template_kwargs")
            for name in ("messages", "tools", "add_generation_prompt", "bos_token", "_x", "a b", "x" * 65, "")
        ),
        (
            {"chat_template_kwargs": {f"x{n}": n for n in range(MAX_TEMPLATE_VARIABLES + 1)}},
            "chat_template_kwargs",
        ),
    ],
)
def test_refusals_name_their_field(options: dict[str, Any], param: str) -> None:
    error = refused(**options)
    assert (error.param, error.status) == (param, 400)


@pytest.mark.parametrize(
    ("fields", "options"),
    [
        (
            {"reasoning": {"effort": "high", "max_tokens": 50}},
            {"reasoning_effort": "high", "thinking_budget": 50},
        ),
        ({"reasoning": {"enabled": False}}, {"enable_thinking": False}),
        ({"reasoning": {}, "thinking": None}, {}),
        (
            {"thinking": {"type": "enabled", "budget_tokens": 9}},
            {"enable_thinking": True, "thinking_budget": 9},
        ),
        ({"thinking": {"type": "disabled"}}, {"enable_thinking": False}),
        ({"thinking": {"type": "adaptive"}}, {}),
        ({"thinking_budget": 5, "reasoning": {"max_tokens": 5}}, {"thinking_budget": 5}),
    ],
)
def test_names_of_other_apis_set_the_same_options(fields: dict[str, Any], options: dict[str, Any]) -> None:
    said = from_chat(**fields)
    names = ("enable_thinking", "thinking_budget", "reasoning_effort", "chat_template_kwargs")
    assert {name: getattr(said, name) for name in names if getattr(said, name) is not None} == options


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"thinking": {"type": "perhaps"}}, "thinking.type"),
        ({"thinking": {"budget_tokens": "many"}}, "thinking.budget_tokens"),
        ({"thinking": True}, "thinking"),
        ({"reasoning": {"max_tokens": 1}, "thinking": {"budget_tokens": 2}}, "thinking.budget_tokens"),
        ({"enable_thinking": True, "reasoning": {"enabled": False}}, "reasoning.enabled"),
        ({"reasoning": {"effort": "enormous"}}, "reasoning.effort"),
        ({"reasoning_format": "xml"}, "reasoning_format"),
        ({"messages": [{"role": "assistant", "reasoning_content": 5}]}, "messages[0].reasoning_content"),
    ],
)
def test_a_chat_body_that_is_refused_names_its_field(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        from_chat(**fields)
    assert caught.value.param == param


@pytest.mark.parametrize(
    ("fields", "form"),
    [
        ({}, "apart"),
        ({"reasoning_format": "auto"}, "apart"),
        ({"reasoning_format": "deepseek"}, "apart"),
        ({"reasoning_format": "none"}, "inline"),
        ({"reasoning_format": "deepseek-legacy"}, "both"),
        ({"reasoning": {"exclude": True}}, "hidden"),
    ],
)
def test_every_reasoning_format_is_read(fields: dict[str, Any], form: str) -> None:
    body = {"messages": [{"role": "user", "content": "Hi"}], **fields}
    assert request_from_chat(body, lambda _: "0" * 32, strict=True).reasoning_format == form


def test_past_reasoning_is_read_under_both_names() -> None:
    turns = [{"role": "assistant", "content": "a", name: "so"} for name in ("reasoning_content", "reasoning")]
    request = request_from_chat({"messages": turns}, lambda _: "0" * 32)
    assert [turn.reasoning_content for turn in request.submits[0].messages or []] == ["so", "so"]
