"""Options on reasoning: the switch, the budget, and variables of the chat template."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from cactus_actors.api.field_names import errors_name_fields_as_given
from cactus_actors.api.option_ranges import RANGES
from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.sampling_params import UNLIMITED

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
MAX_TEMPLATE_VARIABLES = 64
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}", re.ASCII)
_TAKEN = ("messages", "tools", "add_generation_prompt")
_SPELLINGS = {"enable_thinking": bool, "thinking": bool, "reasoning_effort": str, "thinking_budget": int}
"""Variables of chat templates with the meaning of options, and their types."""


class ReasoningRequest(msgspec.Struct, frozen=True):
    """The switch, None for the default; the budget in tokens, UNLIMITED for none; the template's `variables`."""

    enabled: bool | None = None
    budget: int = UNLIMITED
    variables: dict[str, Any] = {}


def reasoning_request(given: Mapping[str, Any]) -> ReasoningRequest:
    """The request that the options make together; raises InvalidRequest if they contradict each other."""
    variables = dict(given.get("chat_template_kwargs", {}))
    _check_variables(variables)
    names = {name: f"chat_template_kwargs.{name}" for name in _SPELLINGS if name in variables and name not in given}
    with errors_name_fields_as_given(names):
        return _reasoning_request(given, variables)


def _reasoning_request(given: Mapping[str, Any], variables: dict[str, Any]) -> ReasoningRequest:
    effort = _given_once(given, variables, "reasoning_effort")
    if effort is not None and effort not in EFFORTS:
        raise InvalidRequest(f"reasoning_effort must be one of {', '.join(EFFORTS)}", param="reasoning_effort")
    budget = _given_once(given, variables, "thinking_budget")
    lowest, highest = RANGES["thinking_budget"]
    if budget is not None and not lowest <= budget <= highest:
        raise InvalidRequest(
            f"thinking_budget must be between {lowest} and {highest}, got {budget!s:.40}",
            param="thinking_budget",
        )
    enabled = _enabled(given, variables, effort)
    if enabled is None and budget == 0:
        enabled = False
    canonical = {"reasoning_effort": effort, "thinking_budget": None if budget == UNLIMITED else budget}
    variables |= {name: value for name, value in canonical.items() if value is not None}
    return ReasoningRequest(enabled, UNLIMITED if budget is None else budget, variables)


def _check_variables(variables: Mapping[str, Any]) -> None:
    if len(variables) > MAX_TEMPLATE_VARIABLES:
        raise InvalidRequest(
            f"chat_template_kwargs holds {len(variables)} names, at most {MAX_TEMPLATE_VARIABLES}",
            param="chat_template_kwargs",
        )
    for name, value in variables.items():
        if _NAME.fullmatch(name) is None or name in _TAKEN or name.endswith("_token"):
            raise InvalidRequest(
                f"chat_template_kwargs: {name[:80]!r} is not a name that a request may set",
                param="chat_template_kwargs",
            )
        kind = _SPELLINGS.get(name)
        if kind is not None and value is not None and type(value) is not kind:
            words = {bool: "true or false", str: "a string", int: "an integer"}
            raise InvalidRequest(
                f"chat_template_kwargs.{name} must be {words[kind]}", param=f"chat_template_kwargs.{name}"
            )


def _given_once(given: Mapping[str, Any], variables: Mapping[str, Any], name: str) -> Any:
    """An option that may also be a variable of the template."""
    values = {value for value in (given.get(name), variables.get(name)) if value is not None}
    if len(values) > 1:
        raise InvalidRequest(
            f"{name} and chat_template_kwargs.{name} are one field and were given two values", param=name
        )
    return next(iter(values), None)


def _enabled(given: Mapping[str, Any], variables: dict[str, Any], effort: str | None) -> bool | None:
    """The switch, under each of its names; an effort other than `none` enables reasoning, too."""
    enabled: bool | None = _given_once(given, variables, "enable_thinking")
    named = variables.pop("thinking", None)
    variables.pop("enable_thinking", None)
    if named is not None and enabled not in (None, named):
        raise InvalidRequest(
            "enable_thinking and chat_template_kwargs.thinking are one field and were given two values",
            param="enable_thinking",
        )
    enabled = named if enabled is None else enabled
    for field, value in (
        ("prompt_mode", True if "prompt_mode" in given else None),
        ("reasoning_effort", effort),
    ):
        if value is None:
            continue
        is_wanted = value != "none"
        if enabled is None:
            enabled = is_wanted
        elif enabled != is_wanted and (field == "prompt_mode" or not is_wanted):
            raise InvalidRequest(f"{field} and enable_thinking contradict each other", param=field)
    return enabled
