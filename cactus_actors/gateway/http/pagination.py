"""Pages of lists, as in OpenAI's API."""

from __future__ import annotations

from typing import Any

from cactus_actors.gateway.http.request_body import HttpRequest
from cactus_actors.protocol.errors import InvalidRequest

DEFAULT_LIMIT = 20
MAX_LIMIT = 10_000


def page(request: HttpRequest, objects: list[dict[str, Any]]) -> dict[str, Any]:
    """At most `limit` of the objects after the one named by `after`; raises InvalidRequest."""
    limit = _limit(request)
    objects = objects[_place(request, "after", objects, -1) + 1 :]
    return {"object": "list"} | _shown(objects[:limit], has_more=limit < len(objects))


def page_between(request: HttpRequest, objects: list[dict[str, Any]]) -> dict[str, Any]:
    """A page of Anthropic's: at most `limit` of the objects after `after_id`, or of those just before `before_id`.

    Raises InvalidRequest.
    """
    limit = _limit(request)
    first = _place(request, "after_id", objects, -1) + 1
    end = _place(request, "before_id", objects, len(objects))
    between = objects[first:end]
    from_end = "before_id" in request.query_params and "after_id" not in request.query_params
    shown = between[-limit:] if from_end else between[:limit]
    return _shown(shown, has_more=len(shown) < len(between))


def _limit(request: HttpRequest) -> int:
    written = request.query_params.get("limit", str(DEFAULT_LIMIT))
    # Python reads no integers of thousands of digits.
    if not (written.isascii() and written.isdigit() and len(written) <= 9) or not 1 <= int(written) <= MAX_LIMIT:
        raise InvalidRequest(f"limit must be from 1 to {MAX_LIMIT}", param="limit")
    return int(written)


def _place(request: HttpRequest, name: str, objects: list[dict[str, Any]], otherwise: int) -> int:
    """The index of the object with the id that a parameter gives; raises InvalidRequest if there is none."""
    wanted = request.query_params.get(name)
    if wanted is None:
        return otherwise
    ids = [one["id"] for one in objects]
    if wanted not in ids:
        raise InvalidRequest(f"`{name}`: no object with id {wanted[:64]!r} in this list", param=name)
    return ids.index(wanted)


def _shown(shown: list[dict[str, Any]], *, has_more: bool) -> dict[str, Any]:
    return {
        "data": shown,
        "first_id": shown[0]["id"] if shown else None,
        "last_id": shown[-1]["id"] if shown else None,
        "has_more": has_more,
    }
