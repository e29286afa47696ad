"""HEAD: the status and the headers of GET, without the body (RFC 9110, section 9.3.2)."""

from __future__ import annotations

from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send


class HeadRequests:
    """An ASGI application around another, which gets each HEAD as a GET; streams end with their headers."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; others than HEAD pass through."""
        if scope["type"] != ScopeType.HTTP or scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return

        async def send_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body", "body": b"", "more_body": False})

        # without the connection, which a stream that ends early would drop
        asked: HTTPScope = {**scope, "method": "GET", "extensions": None}
        await self.app(asked, receive, send_headers)
