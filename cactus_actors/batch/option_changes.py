"""Describes the differences between the options of two runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

MAX_SHOWN_LENGTH = 80
_OPTION_NAMES = {"form": "--format", "json_schema": "--schema"}


def changes_in_words(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """A phrase for each differing option, with its name on the command line."""
    first, second = _flat(before), _flat(now)
    names = [name for name in (first | second) if first.get(name) != second.get(name)]
    return [f"{_shown_name(name)} {_change(first.get(name), second.get(name))}" for name in names]


def with_max_tokens_of(others: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a run with the `max_tokens` of another one."""
    return {**parameters, "options": {**parameters["options"], "max_tokens": others["options"].get("max_tokens")}}


def _flat(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Options and other parameters in one mapping, without missing ones."""
    others = {name: value for name, value in parameters.items() if name not in ("options", "raw", "rows")}
    if parameters.get("raw"):
        others["raw"] = True
    every = {**others, **parameters.get("rows", {}), **parameters.get("options", {})}
    return {name: value for name, value in every.items() if value is not None}


def _shown_name(name: str) -> str:
    return _OPTION_NAMES.get(name, "--" + name.replace("_", "-"))


def _change(before: Any, now: Any) -> str:
    match before, now:
        case None, True:
            return "was not given and is given now"
        case True, None:
            return "was given and is not given now"
        case None, _:
            return f"was not given and is {_shown(now)} now"
        case _, None:
            return f"was {_shown(before)} and is not given now"
    return f"was {_shown(before)} and is {_shown(now)} now"


def _shown(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= MAX_SHOWN_LENGTH else f"{text[:MAX_SHOWN_LENGTH]}..."
