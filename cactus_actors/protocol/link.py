"""What every ZeroMQ connection of the protocol has in common: how much it follows, how its ends watch it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import zmq

MAX_TOPICS = 256
"""Streams that one connection may follow at once, unless its key was given more."""

# Milliseconds. They watch the link alone: a hung process still answers them, so workers report as well.
HEARTBEATS: Mapping[zmq.SocketOption, int] = {
    zmq.HEARTBEAT_IVL: 1000,
    zmq.HEARTBEAT_TIMEOUT: 3000,
    zmq.HEARTBEAT_TTL: 3000,
}


def set_options(socket: zmq.Socket[Any], options: Mapping[zmq.SocketOption, int]) -> None:
    """Set `options` and the heartbeats of the protocol on a socket that is not connected yet."""
    for option, value in {**HEARTBEATS, **options}.items():
        socket.setsockopt(option, value)
