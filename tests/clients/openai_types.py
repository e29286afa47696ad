"""Bodies and events compared with the types of the `openai` package: all of their fields, and no others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pydantic
from openai.types.responses import Response, ResponseFunctionCallArgumentsDoneEvent, ResponseStreamEvent

OURS = {
    *("confidence", "accepted", "cloud_handoff", "handoff", "measures", "timings"),
    *("seed", "seed_text", "selected_tools", "sources"),
}
"""Fields of a response beyond OpenAI's."""
_EVENT: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(ResponseStreamEvent)


def check_response(body: dict[str, Any]) -> Response:
    """The response that a body is; raises for a field that is missing, or not known there."""
    response = Response.model_validate(body)
    assert _unknown(response) == set()
    return response


def check_event(event: dict[str, Any]) -> Any:
    """The event, likewise."""
    typed = _EVENT.validate_python(event)
    assert typed.type == event["type"]
    assert _unknown(typed) == set()
    return typed


def check_typed(body: dict[str, Any], kind: Any) -> Any:
    """The value of that type, likewise."""
    typed = pydantic.TypeAdapter(kind).validate_python(body)
    assert _unknown(typed) == set()
    return typed


def _unknown(value: Any) -> set[str]:
    """The fields that the types do not have."""
    return {name for part in _parts(value) for name in part.model_extra or {} if not _is_ours(part, name)}


def _is_ours(part: pydantic.BaseModel, name: str) -> bool:
    if isinstance(part, ResponseFunctionCallArgumentsDoneEvent):
        return name == "name"  # required before version 3 of the package
    return isinstance(part, Response) and name in OURS


def _parts(value: Any) -> Iterator[pydantic.BaseModel]:
    if isinstance(value, pydantic.BaseModel):
        yield value
        for name in type(value).model_fields:
            yield from _parts(getattr(value, name))
    elif isinstance(value, list):
        for one in value:
            yield from _parts(one)
