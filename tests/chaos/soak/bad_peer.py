"""A malicious peer: bytes that are not ZeroMQ, frames that are not messages, floods."""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
from collections.abc import Mapping

from cactus_actors.protocol.wire import encode
from cactus_actors.protocol.worker_messages import Report
from tests.support.router.raw_peer import MORE, RawPeer, address_of, frame

NUM_FRAMES = 200
NUM_FLOOD = 20_000
KINDS = {"jobs": "DEALER", "stream": "SUB", "workers": "DEALER"}


class BadPeer:
    """Attacks one of the `endpoints` (jobs, stream, workers) in one of its ways, over a new connection each time."""

    def __init__(self, endpoints: Mapping[str, str], chance: random.Random) -> None:
        self._endpoints = endpoints
        self._chance = chance

    async def harm(self) -> None:
        """Return after disconnecting; a router that hangs up, or is absent, is not a failure here."""
        way = self._chance.choice([self._no_zeromq, self._no_messages, self._flood])
        name = self._chance.choice(list(KINDS))
        with contextlib.suppress(OSError):
            await asyncio.to_thread(way, name)

    def _no_zeromq(self, name: str) -> None:
        with socket.create_connection(address_of(self._endpoints[name]), timeout=5.0) as connection:
            connection.sendall(self._chance.randbytes(self._chance.randrange(1, 2000)))

    def _no_messages(self, name: str) -> None:
        """Frames of any content; some begin a message that does not end."""
        frames = [
            frame(self._chance.randbytes(self._chance.randrange(600)), self._chance.choice([0, MORE]))
            for _ in range(NUM_FRAMES)
        ]
        self._send(name, b"".join(frames))

    def _flood(self, name: str) -> None:
        header, payload = encode(Report(0, 1, 1, 0, []))
        contents = {
            "jobs": frame(b"", MORE) * NUM_FLOOD,  # one message without an end
            "stream": b"".join(frame(b"\1" + f"{number:032x}".encode()) for number in range(NUM_FLOOD)),
            "workers": (frame(header, MORE) + frame(payload)) * NUM_FLOOD,
        }
        self._send(name, contents[name])

    def _send(self, name: str, content: bytes) -> None:
        peer = RawPeer(self._endpoints[name], KINDS[name])
        peer.send(content)
        peer.reset() if self._chance.random() < 0.5 else peer.close()
