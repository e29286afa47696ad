"""/, /openapi.json, and /docs, the same as a document for people without external resources."""

from __future__ import annotations

from functools import cache
from html import escape
from typing import Any

from litestar import get
from litestar.response.base import ASGIResponse

from cactus_actors.gateway.answers.job_responses import json_response
from cactus_actors.gateway.context import gateway_of
from cactus_actors.gateway.http.api_keys import authorization_of
from cactus_actors.gateway.http.request_body import HttpRequest
from cactus_actors.gateway.openapi.document import OPERATIONS, document
from cactus_actors.gateway.page.responses import asset_response

_STYLE = (
    "body{font:15px/1.5 system-ui;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "code{background:#8882;padding:0 .3em}td{padding:.1em 1em .1em 0;vertical-align:top}"
    "summary{cursor:pointer;padding:.2em 0}b{display:inline-block;width:4.5em}"
)


WHAT_THIS_IS = (
    "An inference server for small language models on CPUs. Answers that it is unsure of are handed to a larger model."
)


@get("/")
async def root(request: HttpRequest) -> ASGIResponse:
    """For a browser the page for people, which has nothing that a key protects; else name, model and paths."""
    gateway = gateway_of(request)
    is_browser = "text/html" in request.headers.get("accept", "")
    if is_browser and gateway.has_page:
        return asset_response("/", request.headers.get("if-none-match"))
    gateway.keys.tenant(authorization_of(request.scope["headers"]))
    if is_browser:
        return ASGIResponse(body=_page(), media_type="text/html")
    return json_response(
        {
            "name": "cactus-actors",
            "description": WHAT_THIS_IS,
            "version": _document()["info"]["version"],
            "model": gateway.model,
            "apis": {group: [*dict.fromkeys(one.path for one in ones)] for group, ones in OPERATIONS.items()},
            "docs": "/docs",
            "openapi": "/openapi.json",
            "health": "/health",
            "metrics": "/metrics",
        }
    )


@get("/openapi.json")
async def openapi() -> ASGIResponse:
    """The OpenAPI document."""
    return json_response(_document())


@get("/docs")
async def docs() -> ASGIResponse:
    """A page of all operations and their fields."""
    return ASGIResponse(body=_page(), media_type="text/html")


@cache
def _document() -> dict[str, Any]:
    return document()


@cache
def _page() -> bytes:
    schemas = _document()["components"]["schemas"]
    parts = [f"<!doctype html><title>cactus-actors</title><style>{_STYLE}</style><h1>cactus-actors</h1>"]
    parts.append(f"<p>{escape(WHAT_THIS_IS)}")
    parts.append('<p>The document for programs: <a href="openapi.json">openapi.json</a></p>')
    for group, operations in OPERATIONS.items():
        parts.append(f"<h2>{escape(group)}</h2>")
        for one in operations:
            fields = schemas.get(one.body or "", {}).get("properties", {})
            head = f"<b>{one.method.upper()}</b><code>{escape(one.path)}</code> {escape(one.summary)}"
            rows = "".join(
                f"<tr><td><code>{escape(name)}</code><td>{escape(_type(schema))}"
                for name, schema in sorted(fields.items())
            )
            parts.append(f"<details><summary>{head}</summary><table>{rows}</table></details>")
    return "".join(parts).encode()


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_type(one) for one in schema["anyOf"]))
    kind = schema.get("type", "any")
    written = " or ".join(kind) if isinstance(kind, list) else str(kind)
    return f"{written} of {_type(schema['items'])}" if isinstance(schema.get("items"), dict) else written


HANDLERS = [root, openapi, docs]
