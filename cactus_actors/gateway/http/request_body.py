"""The body of a request: received within limits, and decoded as strict JSON."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol, TypeVar

from litestar import Request
from litestar.datastructures import State

from cactus_actors.api.strict_json import decode_strictly, num_outside_strings
from cactus_actors.gateway.http.api_keys import Tenant
from cactus_actors.gateway.http.caller_shares import Share
from cactus_actors.gateway.http.timeouts import GatewayTimeouts
from cactus_actors.protocol.errors import (
    InvalidJSON,
    PayloadTooLarge,
    RequestTimedOut,
    UnsupportedMediaType,
)

MIN_BYTES_A_SECOND = 4096

LARGE_BYTES = 32 * 1024
"""Bodies up to this length block the event loop for a millisecond or two."""
MAX_CONTAINERS = 131_072
"""Objects and arrays of one body; decoded, each takes 20 to 40 times as much memory as in the text."""

T = TypeVar("T")
HttpRequest = Request[Tenant, Any, State]


class WorkQueue(Protocol):
    """Work in a separate thread, round robin by caller."""

    async def result(self, asker: Hashable, num_characters: int, work: Callable[[], T]) -> T:
        """Result of `work` on this number of characters; raises Overloaded beyond a caller's limit."""
        ...


class ClientDisconnected(BaseException):
    """The client has left; a BaseException, because no response to it can be sent."""


async def read_json(request: HttpRequest, max_bytes: int, convert: Callable[[dict[str, Any]], T]) -> T:
    """The result of `convert` for the decoded body; a large body is decoded and converted in a separate thread.

    Raises UnsupportedMediaType, PayloadTooLarge, RequestTimedOut, InvalidJSON, the errors of `convert`, and
    Overloaded beyond the caller's share of memory for bodies.
    """
    _check_is_json(request)
    state = request.scope["state"]
    body = bytearray()
    held_bytes: Share = state["held_bytes"]
    queue: WorkQueue = state["work_queue"]

    def work() -> T:
        with _uncollected():
            return convert(strict_json(body))

    try:
        async for chunk in body_chunks(request, max_bytes):
            held_bytes.add(len(chunk))
            body += chunk
        if len(body) <= LARGE_BYTES:
            return convert(strict_json(body))
        return await queue.result(state["caller"], len(body), work)
    finally:
        # The frames of a reported error refer to the body, which would stay until garbage collection.
        with suppress(BufferError):  # the thread still reads it, though its client has left
            body.clear()


async def body_chunks(request: HttpRequest, max_bytes: int) -> AsyncIterator[bytes]:
    """The chunks of the body; raises PayloadTooLarge before more than `max_bytes` are read."""
    for encoding in request.headers.getall("content-encoding", []):
        if encoding != "identity":
            raise UnsupportedMediaType(f"a body encoded as {encoding[:40]!r} is not accepted; send it plain")
    announced = request.headers.get("content-length", "")
    if announced.isdigit() and int(announced) > max_bytes:
        raise _too_large(max_bytes)
    num_bytes = 0
    timeouts: GatewayTimeouts = request.scope["state"]["timeouts"]
    now = asyncio.get_running_loop().time
    begun_at = now()
    try:
        async with asyncio.timeout(timeouts.body_s) as limit:
            is_more = True
            while is_more:
                message = await request.receive()
                if message["type"] != "http.request":
                    raise ClientDisconnected
                chunk, is_more = message["body"], message["more_body"]
                num_bytes += len(chunk)
                if num_bytes > max_bytes:
                    raise _too_large(max_bytes)
                slowest = begun_at + num_bytes / MIN_BYTES_A_SECOND
                limit.reschedule(min(now(), slowest) + timeouts.body_s)
                yield chunk
    except TimeoutError:
        raise RequestTimedOut(
            f"the body arrived too slowly: nothing for {timeouts.body_s:g} s, "
            f"or less than {MIN_BYTES_A_SECOND} bytes a second"
        ) from None


def strict_json(body: bytes | bytearray) -> dict[str, Any]:
    """The one object that `body` is, in UTF-8; raises InvalidJSON, also for a name that is given twice.

    More objects and arrays than MAX_CONTAINERS are refused before anything is decoded.
    """
    if body.count(b"{") + body.count(b"[") > MAX_CONTAINERS:
        num_containers = num_outside_strings(body, b"{[")
        if num_containers > MAX_CONTAINERS:
            raise InvalidJSON(
                f"the body is JSON that is not accepted: {num_containers} objects and arrays, "
                f"at most {MAX_CONTAINERS} are allowed"
            )
    value = decode_strictly(body, "the body")
    if not isinstance(value, dict):
        raise InvalidJSON(f"the body must be a JSON object, not {_kind(value)} (byte 0)")
    return value


@contextmanager
def _uncollected() -> Iterator[None]:
    """Suspend garbage collection: it would examine a body of a million empty lists again and again."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _check_is_json(request: HttpRequest) -> None:
    # A web page can post any other content type to this machine without a preflight.
    content_type, _, parameters = request.headers.get("content-type", "").partition(";")
    if content_type.strip().lower() != "application/json":
        raise UnsupportedMediaType(
            f"the body must be application/json, not {content_type.strip()[:60] or 'of no type'!r}"
        )
    charset = parameters.strip().lower()
    if charset.startswith("charset=") and charset[8:].strip('"') not in ("utf-8", "utf8"):
        raise UnsupportedMediaType("JSON is sent as UTF-8")


def _too_large(max_bytes: int) -> PayloadTooLarge:
    return PayloadTooLarge(f"the body is above {max_bytes} bytes")


def _kind(value: object) -> str:
    return {type(None): "null", list: "an array", str: "a string", bool: "a boolean"}.get(type(value), "a number")
