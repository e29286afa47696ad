"""Responses with the files of the page, and what a browser may do with them.

Scripts and styles are files of this server and nothing else; no code of the page can turn text into markup (Trusted
Types); no other page can frame it, and it sends nobody its address.
"""

from __future__ import annotations

from litestar import get
from litestar.response.base import ASGIResponse

from cactus_actors.gateway.context import gateway_of
from cactus_actors.gateway.http.request_body import HttpRequest
from cactus_actors.gateway.page.assets import PREFIX, assets
from cactus_actors.protocol.errors import ResourceNotFound

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
SECURITY_HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


def asset_response(path: str, if_none_match: str | None) -> ASGIResponse:
    """The file at `path`, or 304 for a browser that has it; raises ResourceNotFound."""
    asset = assets().get(path)
    if asset is None:
        raise ResourceNotFound(f"the page has no file {path[:100]!r}")
    # The browser asks each time, and gets a new file only after an update of this package.
    headers = {"cache-control": "no-cache", "etag": asset.etag, "vary": "accept", **SECURITY_HEADERS}
    known = [tag.strip().removeprefix("W/") for tag in (if_none_match or "").split(",")]
    if asset.etag in known or "*" in known:
        return ASGIResponse(status_code=304, headers=headers, media_type=asset.media_type)
    return ASGIResponse(body=asset.body, headers=headers, media_type=asset.media_type)


@get(PREFIX + "{name:path}")
async def page_file(request: HttpRequest) -> ASGIResponse:
    """A module or a style of the page."""
    if not gateway_of(request).has_page:
        raise ResourceNotFound("the page is switched off; `cactus serve --page on` switches it on")
    return asset_response(request.url.path, request.headers.get("if-none-match"))


HANDLERS = [page_file]
