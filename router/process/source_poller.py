"""Waits for sockets and descriptors whose events of interest change."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import zmq


class SourcePoller:
    """Polls ZeroMQ sockets and objects with a `fileno`; `sources` are always polled for messages."""

    def __init__(self, sources: Iterable[Any]) -> None:
        self._poller = zmq.Poller()
        self._events: dict[Any, int] = {}
        for source in sources:
            self.watch(source, int(zmq.POLLIN))

    def watch(self, source: Any, events: int) -> None:
        """Poll a source for these events from now on."""
        if self._events.get(source) != events:
            self._events[source] = events
            self._poller.register(source, events)

    def wait(self, timeout_s: float) -> dict[Any, int]:
        """The ready sources, or descriptors; none after `timeout_s` seconds, at the earliest."""
        return dict(self._poller.poll(max(0, math.ceil(timeout_s * 1000))))
