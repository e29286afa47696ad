"""Renders errors as responses of one format: a nested object with an integer code, Mistral's fields around it."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable

import msgspec
from litestar import MediaType, Response
from litestar.exceptions import HTTPException, MethodNotAllowedException, NotFoundException
from litestar.response.base import ASGIResponse

from cactus_actors.api.openai import error_body
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

_log = logging.getLogger(__name__)


def failure_response(info: ErrorInfo, request_id: str, *, is_mistral: bool) -> ASGIResponse:
    """The response to a request that failed before any part of its response was sent."""
    return ASGIResponse(
        body=_content(info, request_id, is_mistral=is_mistral),
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


def exception_handler(*, is_mistral: bool) -> Callable[[HttpRequest, Exception], Response[bytes]]:
    """Litestar's handler of every exception."""

    def handle(request: HttpRequest, error: Exception) -> Response[bytes]:
        request_id = request.scope["state"]["request_id"]
        info = info_of(_routing_failure(request, error) or error, request_id)
        return Response(
            _content(info, request_id, is_mistral=is_mistral),
            status_code=info.status or 500,
            headers=_headers(info) | _allowed(error),
            media_type=MediaType.JSON,
        )

    return handle


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


def _content(info: ErrorInfo, request_id: str, *, is_mistral: bool) -> bytes:
    return msgspec.json.encode(error_body(info, request_id=request_id, is_mistral=is_mistral))


def _headers(info: ErrorInfo) -> dict[str, str]:
    if info.status in (Overloaded.status, Unavailable.status):
        return {"retry-after": str(max(1, math.ceil(info.retry_after or DEFAULT_RETRY_S)))}
    if info.status == AuthenticationFailed.status:
        return {"www-authenticate": "Bearer"}
    return {}
