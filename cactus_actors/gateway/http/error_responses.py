"""Renders errors as responses, in the format of the API that a request names."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from typing import Any

import msgspec
from litestar import MediaType, Response
from litestar.exceptions import HTTPException, MethodNotAllowedException, NotFoundException
from litestar.response.base import ASGIResponse

from cactus_actors.gateway.http.error_formats import ErrorFormat
from cactus_actors.gateway.http.request_body import HttpRequest
from cactus_actors.gateway.http.unserved_paths import suggestion_for
from cactus_actors.protocol.error_info import ErrorInfo
from cactus_actors.protocol.errors import (
    AuthenticationFailed,
    CactusError,
    InvalidRequest,
    MethodNotAllowed,
    Overloaded,
    ResourceNotFound,
    ServerFailure,
    Unavailable,
)

DEFAULT_RETRY_S = 1.0
NoteError = Callable[[bytes, str, ErrorInfo, str], None]
"""Records a failure: the tenant, the route, the error and the id of the request."""

_log = logging.getLogger(__name__)


def failure_response(info: ErrorInfo, state: dict[str, Any]) -> ASGIResponse:
    """The response to a request that failed before any part of its response was sent; `state` is its scope's."""
    _note(info, state, "-")
    return ASGIResponse(
        body=_content(info, state),
        status_code=info.status or 500,
        headers=_headers(info),
    )


def info_of(error: BaseException, request_id: str) -> ErrorInfo:
    """The error for the client; an unexpected one is only logged in full."""
    if isinstance(error, CactusError):
        return error.info()
    if isinstance(error, HTTPException) and 400 <= error.status_code < 500:
        return InvalidRequest(error.detail[:200]).info()
    _log.error("request %s failed", request_id, exc_info=error)
    return ServerFailure("internal error; the log has details under the request's id").info()


def handle_exception(request: HttpRequest, error: Exception) -> Response[bytes]:
    """Litestar's handler of every exception."""
    state = request.scope["state"]
    info = info_of(_routing_failure(request, error) or error, state["request_id"])
    _note(info, state, str(request.scope.get("path_template") or "-"))
    return Response(
        _content(info, state),
        status_code=info.status or 500,
        headers=_headers(info) | _allowed(error),
        media_type=MediaType.JSON,
    )


def _note(info: ErrorInfo, state: dict[str, Any], path: str) -> None:
    note: NoteError = state["note_error"]
    note(state.get("tenant", b""), path, info, state["request_id"])


def _routing_failure(request: HttpRequest, error: Exception) -> CactusError | None:
    """The error for an unknown path, or for a method that a path does not have."""
    if isinstance(error, NotFoundException):
        paths = [route.path for route in request.app.routes]
        return ResourceNotFound(suggestion_for(request.method, request.scope["path"], paths))
    if isinstance(error, MethodNotAllowedException):
        return MethodNotAllowed(f"this path takes {_allowed(error).get('allow') or 'another method'}")
    return None


def _allowed(error: Exception) -> dict[str, str]:
    """The `allow` header for a request with a wrong method."""
    return dict(error.headers or {}) if isinstance(error, MethodNotAllowedException) else {}


def _content(info: ErrorInfo, state: dict[str, Any]) -> bytes:
    form: ErrorFormat = state["error_format"]
    return msgspec.json.encode(form(info, state["request_id"]))


def _headers(info: ErrorInfo) -> dict[str, str]:
    if info.status in (Overloaded.status, Unavailable.status):
        return {"retry-after": str(max(1, math.ceil(info.retry_after or DEFAULT_RETRY_S)))}
    if info.status == AuthenticationFailed.status:
        return {"www-authenticate": "Bearer"}
    return {}
