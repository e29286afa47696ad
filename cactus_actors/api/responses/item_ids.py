"""The ids of responses and of their items, which contain the id of the request."""

from __future__ import annotations

import re

_ITEM = re.compile(r"(?:msg|rs|fc|fco)_([0-9a-f]{24})(?:[0-9a-f]{4}|i[0-9a-f]{4,6})", re.ASCII)
_PREFIXES = {"message": "msg", "reasoning": "rs", "function_call": "fc", "function_call_output": "fco"}


def response_id_of(request_id: str) -> str:
    """The id of the response to a request."""
    return f"resp_{request_id}"


def input_item_id(kind: str, response_id: str, place: int) -> str:
    """The id of an item of the input that came without one."""
    return f"{_PREFIXES[kind]}_{response_id.removeprefix('resp_')}i{place:04x}"


def output_item_id(kind: str, response_id: str, place: int) -> str:
    """The id of an item of the output."""
    return f"{_PREFIXES[kind]}_{response_id.removeprefix('resp_')}{place:04x}"


def response_of_item(item_id: str) -> str | None:
    """The id of the response that gave an item its id; None for an id that is not ours."""
    found = _ITEM.fullmatch(item_id)
    return None if found is None else response_id_of(found[1])
