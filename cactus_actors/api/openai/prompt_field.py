"""Parses the `prompt` of a completions body into prompts."""

from __future__ import annotations

from cactus_actors.protocol.errors import InvalidRequest, NotSupported

Prompt = str | list[int | str]

MAX_CARRIED = (1 << 63) - 1
"""The largest integer of a frame; the router checks ids against the model's vocabulary."""


def prompts_of(value: object) -> list[Prompt]:
    """The prompts, in order, at least one.

    A list with a token id in it is one prompt, of ids and texts; a list without is many prompts, each a text,
    such a list, or `{"prompt_string": text}`. Raises InvalidRequest.
    """
    match value:
        case None:
            raise InvalidRequest("prompt is required", param="prompt")
        case str():
            return [value]
        case []:
            raise InvalidRequest("prompt must not be empty", param="prompt")
        case list() if any(type(item) is int for item in value):
            return [_mixed(value, "prompt")]
        case list():
            return [_one_of_many(item, f"prompt[{place}]") for place, item in enumerate(value)]
    raise InvalidRequest("prompt must be a string or a list", param="prompt")


def _one_of_many(item: object, path: str) -> Prompt:
    match item:
        case str():
            return item
        case []:
            raise InvalidRequest(f"{path} must not be empty", param="prompt")
        case list():
            return _mixed(item, path)
        case {"prompt_string": str() as text, **rest}:
            if rest.get("multimodal_data"):
                raise NotSupported(f"{path} holds media, which a text model does not read", param="prompt")
            return text
    raise InvalidRequest(f"{path} is not a prompt: a string, or a list of token ids and strings", param="prompt")


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
