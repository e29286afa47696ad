"""Pages of lists, as in OpenAI's API."""

from __future__ import annotations

from typing import Any

from cactus_actors.gateway.http.request_body import HttpRequest
from cactus_actors.protocol.errors import InvalidRequest

DEFAULT_LIMIT = 20
MAX_LIMIT = 10_000


def page(request: HttpRequest, objects: list[dict[str, Any]]) -> dict[str, Any]:
    """At most `limit` of the objects after the one named by `after`; raises InvalidRequest."""
    written = request.query_params.get("limit", str(DEFAULT_LIMIT))
    # Python reads no integers of thousands of digits.
    if not (written.isascii() and written.isdigit() and len(written) <= 9) or not 1 <= int(written) <= MAX_LIMIT:
        raise InvalidRequest(f"limit must be from 1 to {MAX_LIMIT}", param="limit")
    after = request.query_params.get("after")
    if after is not None:
        ids = [one["id"] for one in objects]
        if after not in ids:
            raise InvalidRequest(f"`after`: no object with id {after[:64]!r} in this list", param="after")
        objects = objects[ids.index(after) + 1 :]
    shown = objects[: int(written)]
    return {
        "object": "list",
        "data": shown,
        "first_id": shown[0]["id"] if shown else None,
        "last_id": shown[-1]["id"] if shown else None,
        "has_more": len(shown) < len(objects),
    }
