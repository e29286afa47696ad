"""Settings of every ZeroMQ connection of the protocol: the maximum number of topics, and TCP keepalive.

TCP detects a lost peer, not ZeroMQ: libzmq (4.3.5) aborts the process when a heartbeat is due, or is answered, on a
connection that was reset while nothing more was read from it, because its queue was full (its issue 4364). TCP does
not detect a stopped process, or a proxy that forwards nothing: silent workers are detected by missing reports, and
clients reconnect when they get no answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import zmq

MAX_TOPICS = 256
"""Streams that one connection may follow at once, unless its key allows more."""

# Seconds of silence and between probes, and milliseconds for unacknowledged data.
KEEPALIVE: Mapping[zmq.SocketOption, int] = {
    zmq.TCP_KEEPALIVE: 1,
    zmq.TCP_KEEPALIVE_IDLE: 1,
    zmq.TCP_KEEPALIVE_INTVL: 1,
    zmq.TCP_KEEPALIVE_CNT: 3,
    zmq.TCP_MAXRT: 3000,
}


def set_options(socket: zmq.Socket[Any], options: Mapping[zmq.SocketOption, int]) -> None:
    """Set `options` and the keepalive of its connections on a socket that has none yet."""
    for option, value in {**KEEPALIVE, **options}.items():
        socket.setsockopt(option, value)
