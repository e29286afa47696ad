"""Parses the `prompt` of a completions body into prompts."""

from __future__ import annotations

from typing import NamedTuple

from cactus_actors.protocol.errors import InvalidRequest

Prompt = str | list[int | str]

MAX_CARRIED = (1 << 63) - 1
"""The largest integer of a frame; the router checks ids against the model's vocabulary."""


class GivenPrompt(NamedTuple):
    """A prompt, and its pictures as data URLs; None if it is given without media."""

    prompt: Prompt
    images: list[str] | None = None


def prompts_of(value: object) -> list[GivenPrompt]:
    """The prompts, in order, at least one.

    A list with a token id in it is one prompt, of ids and texts; a list without is many prompts. Each prompt is a text,
    such a list, or llama.cpp's `{"prompt_string": text, "multimodal_data": [base64]}`. Raises InvalidRequest.
    """
    match value:
        case None:
            raise InvalidRequest("prompt is required", param="prompt")
        case []:
            raise InvalidRequest("prompt must not be empty", param="prompt")
        case str() | {"prompt_string": _}:
            return [_one_of_many(value, "prompt")]
        case list() if any(type(item) is int for item in value):
            return [GivenPrompt(_mixed(value, "prompt"))]
        case list():
            return [_one_of_many(item, f"prompt[{place}]") for place, item in enumerate(value)]
    raise InvalidRequest("prompt must be a string or a list, or an object with a prompt_string", param="prompt")


def _one_of_many(item: object, path: str) -> GivenPrompt:
    match item:
        case str():
            return GivenPrompt(item)
        case []:
            raise InvalidRequest(f"{path} must not be empty", param="prompt")
        case list():
            return GivenPrompt(_mixed(item, path))
        case {"prompt_string": str() as text, **rest}:
            return GivenPrompt(text, _images(rest.get("multimodal_data"), path))
    raise InvalidRequest(f"{path} is not a prompt: a string, or a list of token ids and strings", param="prompt")


def _images(value: object, path: str) -> list[str] | None:
    """The contents of llama.cpp's field, which are base64, as data URLs."""
    if not value:
        return None
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise InvalidRequest(f"{path}.multimodal_data must be a list of strings in base64", param="prompt")
    return [f"data:;base64,{item}" for item in value]


def _mixed(items: list[object], path: str) -> Prompt:
    parts: list[int | str] = []
    for place, item in enumerate(items):
        if not isinstance(item, str | int) or isinstance(item, bool):
            raise InvalidRequest(
                f"{path}[{place}] must be a token id or a string, got {type(item).__name__}", param="prompt"
            )
        if isinstance(item, int) and abs(item) > MAX_CARRIED:
            raise InvalidRequest(f"{path}[{place}] is {item!s:.40}, which is not a token id", param="prompt")
        parts.append(item)
    return parts
