"""Checks of every request before its route: id, host, origin, API key, and limits on open requests."""

from __future__ import annotations

import ipaddress
import re
import time
from collections.abc import Iterable
from typing import Any

from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send

from cactus_actors.config import GatewaySettings
from cactus_actors.gateway.context import GatewayContext, stopping_error
from cactus_actors.gateway.http.api_keys import ANONYMOUS, Tenant, authorization_of, host_and_port
from cactus_actors.gateway.http.caller_shares import CallerShares, Share
from cactus_actors.gateway.http.error_formats import error_format_of
from cactus_actors.gateway.http.error_responses import failure_response, info_of
from cactus_actors.gateway.http.http_protocol import abort, is_request_complete
from cactus_actors.gateway.http.origins import OriginPolicy
from cactus_actors.gateway.http.request_body import ClientDisconnected
from cactus_actors.gateway.http.request_ids import new_request_id
from cactus_actors.gateway.page.assets import assets
from cactus_actors.protocol.errors import InvalidRequest, PermissionDenied

PUBLIC_PATHS = frozenset({"/health", "/healthz", "/readyz"})
METRICS_PATH = "/metrics"
_HOST = re.compile(rb"(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?")


class RequestGuard:
    """An ASGI application around another; whatever happens inside, it sends one response in our format."""

    def __init__(self, app: ASGIApp, gateway: GatewayContext) -> None:
        settings = gateway.settings
        self.app = app
        self._gateway = gateway
        self._keys = gateway.keys
        self._metrics = gateway.metrics
        self._public_paths = PUBLIC_PATHS | ({METRICS_PATH} if settings.public_metrics else set())
        # The document of the page, at /, asks for a key where it tells of the service.
        self._page_paths = assets().keys() if gateway.has_page else frozenset[str]()
        self._open_requests = CallerShares(settings.max_open_requests, 1, "requests are open already")
        self._body_bytes = CallerShares(
            settings.max_open_bytes, settings.max_body_bytes, "bytes of open requests are held already"
        )
        self._host = host_and_port(settings.listen)[0]
        self._origins = OriginPolicy(settings.allowed_origins, _schemes_of(settings))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; other kinds of scopes pass through."""
        if scope["type"] != ScopeType.HTTP:
            await self.app(scope, receive, send)
            return
        started = time.monotonic()
        state: dict[str, Any] = scope["state"]
        state["request_id"] = new_request_id(ANONYMOUS)
        state["received_at"] = started
        state["error_format"] = error_format_of(scope["path"], is_mistral=self._gateway.is_mistral)
        state["caller"] = caller = _address_of(scope)
        state["held_bytes"] = held_bytes = Share(self._body_bytes, caller)
        state["open_request"] = open_request = Share(self._open_requests, caller)
        state["work_queue"] = self._gateway.body_queue
        state["timeouts"] = self._gateway.timeouts
        state["note_error"] = self._gateway.errors.note
        status = 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                more = [(b"x-request-id", state["request_id"].encode())]
                if self._gateway.is_draining or state.get("is_broken") or not is_request_complete(scope):
                    more.append((b"connection", b"close"))
                more += self._origins.granted(scope["headers"])
                message["headers"] = [*message["headers"], *more]
            await send(message)

        granted = self._origins.preflight(scope["method"], scope["headers"])
        if granted is not None:
            await send({"type": "http.response.start", "status": 204, "headers": granted})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            return
        self._metrics.num_open += 1
        try:
            state["tenant"] = tenant = self._admitted(scope)
            if tenant:
                state["caller"] = held_bytes.caller = open_request.caller = tenant
            if not self._is_public(scope):
                open_request.add(1)
            state["request_id"] = new_request_id(state["tenant"])
            await self.app(scope, receive, answer)
        except ClientDisconnected:
            self._metrics.note_disconnect()
            abort(scope)
        except Exception as error:
            info = info_of(error, state["request_id"])
            state["is_broken"] = info.param == "Host"  # nothing more is expected of such a client
            if status:  # part of the response is sent; the early close of the connection shows the failure
                raise
            response = failure_response(info, state)
            await response(scope, receive, answer)
        finally:
            held_bytes.release()
            open_request.release()
            self._metrics.num_open -= 1
            route = str(scope.get("path_template") or "")
            self._metrics.note_answer(route or "-", status or 499, time.monotonic() - started)

    def _admitted(self, scope: HTTPScope) -> Tenant:
        headers = scope["headers"]
        hosts = [value for name, value in headers if name == b"host"]
        if not hosts and scope["http_version"] == "1.1":
            raise InvalidRequest("a request of HTTP/1.1 has a Host header", param="Host")
        self._check_host(hosts)
        self._origins.check(scope["method"], headers)
        if self._is_public(scope):
            return ANONYMOUS
        tenant = self._keys.tenant(authorization_of(headers))
        if self._gateway.is_draining and scope["method"] == "POST" and not _may_retry(headers):
            raise stopping_error()
        return tenant

    def _is_public(self, scope: HTTPScope) -> bool:
        path = scope["path"]
        return path in self._public_paths or (scope["method"] == "GET" and path in self._page_paths)

    def _check_host(self, hosts: list[bytes]) -> None:
        if len(hosts) > 1 or not all(_HOST.fullmatch(host) for host in hosts):
            raise InvalidRequest("the Host header is not HOST[:PORT]", param="Host")
        # A web page may reach this machine under its own host name (DNS rebinding), but it has none of our keys.
        if hosts and not self._keys.is_needed and not self._is_ours(hosts[0].decode()):
            raise PermissionDenied("without API keys only requests to an address or to localhost are answered")

    def _is_ours(self, host: str) -> bool:
        name = host.rpartition(":")[0] if re.search(r":\d+$", host) else host
        if name in ("localhost", self._host) or name.endswith(".localhost"):
            return True
        try:
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return False
        return True


def _address_of(scope: HTTPScope) -> str:
    client = scope["client"]
    return client[0] if client else ""


def _schemes_of(settings: GatewaySettings) -> tuple[str, ...]:
    """Schemes of this server's own pages; a proxy may serve either."""
    if settings.behind_proxy:
        return "http", "https"
    return ("http",) if settings.tls_cert is None else ("https",)


def _may_retry(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """True if the request may be about a known job; the router decides, and accepts no new one."""
    return any(name in (b"idempotency-key", b"last-event-id") for name, _ in headers)
