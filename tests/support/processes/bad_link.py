"""A bad network link on one machine: a TCP proxy that delays, cuts, blocks, drops and resets."""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from socket import SO_LINGER, SOL_SOCKET
from typing import Literal
from urllib.parse import urlsplit

Way = Literal["there", "back"]
WAYS: tuple[Way, Way] = ("there", "back")
READ_BYTES = 65_536


@dataclass
class Proxy:
    """Forwards bytes between clients and `target` with the configured faults, which may change at any time.

    `there` is the direction to the target. Bytes that are held back are sent when the link is open again, as after a
    cable is plugged in again; new connections are held back likewise.
    """

    target: str
    delay_s: float = 0.0
    bytes_per_s: float | None = None
    segment_bytes: int = READ_BYTES
    port: int = 0
    num_connections: int = 0
    num_lost_bytes: int = 0
    num_left: dict[Way, int] = field(default_factory=lambda: {"there": 0, "back": 0})
    """The number of connections that the sender of this direction has given up."""
    _loses: set[Way] = field(default_factory=set)
    is_open: dict[Way, asyncio.Event] = field(default_factory=dict)
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def endpoint(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def hold(self, *ways: Way) -> None:
        """Block the link without an error on either side; both directions by default."""
        for way in ways or WAYS:
            self.is_open[way].clear()

    def release(self) -> None:
        """Forward the bytes that were held back, and all that follow."""
        for way in WAYS:
            self.is_open[way].set()

    def reset(self) -> None:
        """Break every connection with RST to both sides."""
        for writer in list(self._writers):
            _reset(writer)

    def lose_once(self, way: Way) -> None:
        """Drop the next bytes of this direction, and break their connection: TCP itself never loses only a part."""
        self._loses.add(way)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.num_connections += 1
        target = urlsplit(self.target)
        try:
            far_reader, far_writer = await asyncio.open_connection(target.hostname, target.port)
        except OSError:
            _reset(writer)
            return
        self._writers |= {writer, far_writer}
        pumps = [
            asyncio.create_task(self._pump("there", reader, far_writer)),
            asyncio.create_task(self._pump("back", far_reader, writer)),
        ]
        self._tasks.update(pumps)
        await asyncio.wait(pumps)
        self._tasks.difference_update(pumps)
        self._writers -= {writer, far_writer}
        for each in (writer, far_writer):
            each.close()

    async def _pump(self, way: Way, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Read at once, so that a closed connection is noticed even if the bytes are forwarded slowly."""
        waiting: asyncio.Queue[bytes] = asyncio.Queue()
        passing = asyncio.create_task(self._pass_on(way, waiting, writer))
        self._tasks.add(passing)
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(READ_BYTES):
                if way in self._loses:
                    self._loses.discard(way)
                    self.num_lost_bytes += len(data)
                    self.reset()
                    break
                waiting.put_nowait(data)
        self.num_left[way] += 1
        waiting.put_nowait(b"")
        await asyncio.wait([passing])
        self._tasks.discard(passing)

    async def _pass_on(self, way: Way, waiting: asyncio.Queue[bytes], writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await waiting.get():
                for segment in _segments(data, self.segment_bytes):
                    await self.is_open[way].wait()
                    if self.delay_s:
                        await asyncio.sleep(self.delay_s)
                    writer.write(segment)
                    await writer.drain()
                    if self.bytes_per_s is not None:
                        await asyncio.sleep(len(segment) / self.bytes_per_s)
        writer.close()


@asynccontextmanager
async def proxied(target: str) -> AsyncIterator[Proxy]:
    """A proxy in front of a `tcp://HOST:PORT` endpoint, in the running loop."""
    proxy = Proxy(target)
    for way in WAYS:
        proxy.is_open[way] = asyncio.Event()
    proxy.release()
    server = await asyncio.start_server(proxy._serve, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        proxy.release()
        proxy.reset()
        for task in list(proxy._tasks):
            task.cancel()
        await asyncio.gather(*proxy._tasks, return_exceptions=True)


def _segments(data: bytes, size: int) -> Iterator[bytes]:
    return (data[first : first + size] for first in range(0, len(data), size))


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close with RST instead of FIN."""
    socket = writer.get_extra_info("socket")
    with contextlib.suppress(OSError):
        socket.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
