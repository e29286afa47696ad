"""Cancels the work for clients that disconnect."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from litestar.types import Receive

from cactus_actors.gateway.context import GatewayContext, stopping_error
from cactus_actors.gateway.http.request_body import ClientDisconnected

T = TypeVar("T")


async def wait_for_disconnect(receive: Receive) -> None:
    """Return when the other side has closed the connection; the body must have been read."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def unless_disconnected(
    gateway: GatewayContext, receive: Receive, work: Coroutine[Any, Any, T], *, survives_disconnect: bool = False
) -> T:
    """The value of `work`; raises ClientDisconnected when the client has left, Unavailable when the gateway stops.

    Then it is cancelled with the jobs that it waits for, unless it `survives_disconnect`.
    """
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(wait_for_disconnect(receive))
    try:
        await asyncio.wait((task, gone, gateway.stopped), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            if (error := task.exception()) is not None:
                gateway.note_failure(error)
            return task.result()
        raise ClientDisconnected if gone.done() else stopping_error()
    finally:
        gone.cancel()
        if not task.done():
            if survives_disconnect:
                gateway.tasks.keep(task)
            else:
                task.cancel()
                await asyncio.wait((task,))
