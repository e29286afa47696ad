"""A cloud on a local port: a raw HTTP server whose responses are written byte by byte, with resets."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from socket import SO_LINGER, SOL_SOCKET
from typing import Any

EVENTS = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


@dataclass
class Request:
    head: str
    body: dict[str, Any]


@dataclass
class Connection:
    """One request being answered."""

    writer: asyncio.StreamWriter

    async def send(self, text: str | bytes) -> None:
        self.writer.write(text.encode() if isinstance(text, str) else text)
        await self.writer.drain()

    async def chunk(self, content: str = "", finish_reason: str | None = None, **fields: Any) -> None:
        choice = {"index": 0, "delta": {"content": content}, "finish_reason": finish_reason}
        await self.event(json.dumps({"choices": [choice], **fields}))

    async def event(self, data: str) -> None:
        await self.send(f"data: {data}\n\n")

    def reset(self) -> None:
        """Close with RST instead of FIN."""
        socket = self.writer.get_extra_info("socket")
        socket.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


Answering = Callable[[Connection], Awaitable[None]]


@dataclass
class FakeCloud:
    """Answers request number i with `script[i]`, and further ones with the last entry."""

    script: list[Answering]
    server: asyncio.Server | None = None
    port: int = 0
    requests: list[Request] = field(default_factory=list)
    gone: asyncio.Event = field(default_factory=asyncio.Event)

    async def close(self) -> None:
        """Stop listening."""
        assert self.server is not None
        self.server.close()
        await self.server.wait_closed()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = next(
                int(line.split(":")[1]) for line in head.split("\r\n") if line.lower().startswith("content-length")
            )
            body = json.loads(await reader.readexactly(length))
            answering = self.script[min(len(self.requests), len(self.script) - 1)]
            self.requests.append(Request(head, body))
            answer = asyncio.ensure_future(answering(Connection(writer)))
            left = asyncio.ensure_future(reader.read())
            await asyncio.wait({answer, left}, return_when=asyncio.FIRST_COMPLETED)
            if left.done() and not answer.done():
                self.gone.set()
            for task in (answer, left):
                task.cancel()
            await asyncio.gather(answer, left, return_exceptions=True)
        except (ConnectionError, asyncio.IncompleteReadError):
            self.gone.set()
        except asyncio.CancelledError:
            pass  # the test is over; the loop ends the connections that are left
        finally:
            writer.close()


@asynccontextmanager
async def fake_cloud(*script: Answering) -> AsyncIterator[FakeCloud]:
    cloud = FakeCloud(list(script))
    server = await asyncio.start_server(cloud._serve, "127.0.0.1", 0)
    cloud.server = server
    cloud.port = server.sockets[0].getsockname()[1]
    try:
        yield cloud
    finally:
        server.close()


async def fast(connection: Connection) -> None:
    """Send two chunks, the usage, and a regular end."""
    await connection.send(EVENTS)
    await connection.chunk("Par")
    await connection.chunk("is", "stop")
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1}}
    await connection.event(json.dumps({"choices": [], "usage": usage}))
    await connection.event("[DONE]")


def status(code: int, message: str = "no", **headers: str) -> Answering:
    """Send an error response with OpenAI's body."""
    body = json.dumps({"error": {"message": message}})
    lines = [f"HTTP/1.1 {code} Status", f"Content-Length: {len(body)}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]

    async def answer(connection: Connection) -> None:
        await connection.send("\r\n".join(lines) + "\r\n\r\n" + body)

    return answer


def in_two_parts(go_on: asyncio.Event) -> Answering:
    """Send the answer `Paris`: its first half at once, the second after `go_on` is set."""

    async def answer(connection: Connection) -> None:
        await connection.send(EVENTS)
        await connection.chunk("Par")
        await go_on.wait()
        await connection.chunk("is", "stop")
        await connection.event("[DONE]")

    return answer


async def silent(connection: Connection) -> None:
    """Accept the request and never answer."""
    await asyncio.Event().wait()


async def stalls(connection: Connection) -> None:
    """Send one chunk, then nothing, like a half-open connection."""
    await connection.send(EVENTS)
    await connection.chunk("Par")
    await asyncio.Event().wait()


async def drips(connection: Connection) -> None:
    """Send one byte at a time, without end."""
    await connection.send(EVENTS)
    while True:
        await connection.send(":")
        await asyncio.sleep(0.02)


async def resets(connection: Connection) -> None:
    """Send one chunk, then RST."""
    await connection.send(EVENTS)
    await connection.chunk("Par")
    await asyncio.sleep(0.05)  # the chunk must leave before the reset discards it
    connection.reset()


async def resets_at_once(connection: Connection) -> None:
    """Send RST in place of an answer."""
    connection.reset()


async def ends_early(connection: Connection) -> None:
    """End cleanly without a finish_reason or [DONE]."""
    await connection.send(EVENTS)
    await connection.chunk("Par")


async def ends_without_mark(connection: Connection) -> None:
    """Send a finish_reason, and end cleanly without [DONE]."""
    await connection.send(EVENTS)
    await connection.chunk("Par")
    await connection.chunk("is", "stop")


async def ends_within_its_last_line(connection: Connection) -> None:
    """Send a finish_reason in a line without a line end."""
    await connection.send(EVENTS)
    await connection.chunk("Par")
    choice = {"index": 0, "delta": {"content": "is"}, "finish_reason": "stop"}
    await connection.send(f"data: {json.dumps({'choices': [choice]})}")


async def resets_behind_its_end(connection: Connection) -> None:
    """Send a finish_reason, then RST."""
    await ends_without_mark(connection)
    await asyncio.sleep(0.05)
    connection.reset()


async def breaks_off_behind_its_end(connection: Connection) -> None:
    """Send a finish_reason, then close the connection in the middle of a chunked body."""
    await connection.send(EVENTS.replace("Connection: close", "Transfer-Encoding: chunked"))
    for content, reason in (("Par", None), ("is", "stop")):
        choice = {"index": 0, "delta": {"content": content}, "finish_reason": reason}
        line = f"data: {json.dumps({'choices': [choice]})}\n\n"
        await connection.send(f"{len(line):x}\r\n{line}\r\n")


async def stays_behind_its_end(connection: Connection) -> None:
    """Send a finish_reason, then nothing, on a connection that stays open."""
    await ends_without_mark(connection)
    await asyncio.Event().wait()


async def ends_without_reason(connection: Connection) -> None:
    """Send [DONE] without a finish_reason before it."""
    await connection.send(EVENTS)
    await connection.chunk("Par")
    await connection.event("[DONE]")


async def sends_broken_json(connection: Connection) -> None:
    """Send a chunk that is not JSON."""
    await connection.send(EVENTS)
    await connection.event('{"choices": [')


async def sends_endless_line(connection: Connection) -> None:
    """Send a line of 50 MB."""
    await connection.send(EVENTS + "data: ")
    for _ in range(50):
        await connection.send(b"x" * 1_000_000)


async def sends_html(connection: Connection) -> None:
    """Send 200 with an HTML body."""
    await connection.send("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi")
