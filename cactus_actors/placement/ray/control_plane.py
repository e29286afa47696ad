"""Probes Ray's GCS server: without it nothing is placed, and failures are not reported."""

from __future__ import annotations

import socket
from collections.abc import Callable

from cactus_actors.placement.interface import PlacementLost

POLL_INTERVAL_S = 1.0
PROBE_TIMEOUT_S = 1.0
LOST_AFTER_S = 30.0
"""Ray ends every node and the driver's process 60 s after the last contact with the server."""


class ControlPlane:
    """Ray's GCS server at HOST:PORT, probed once a second; time is an argument."""

    def __init__(self, address: str, announce: Callable[[str], None]) -> None:
        host, _, port = address.rpartition(":")
        self._place = (host, int(port))
        self._announce = announce
        self._next_probe_at = 0.0
        self._missing_since: float | None = None

    def is_there(self, now: float) -> bool:
        """True if actors can be placed; announces each change.

        Raises PlacementLost after LOST_AFTER_S without the server, so that the service can still stop in order.
        """
        if now >= self._next_probe_at:
            self._next_probe_at = now + POLL_INTERVAL_S
            self._probe(now)
        return self._missing_since is None

    def _probe(self, now: float) -> None:
        if _answers(self._place):
            if self._missing_since is not None:
                self._announce("Ray's server is back")
            self._missing_since = None
        elif self._missing_since is None:
            self._missing_since = now
            self._announce(
                "control_plane_down: Ray's server does not answer; running actors continue, none is replaced"
            )
        elif now - self._missing_since > LOST_AFTER_S:
            raise PlacementLost(
                f"control_plane_down: Ray's server did not answer for {LOST_AFTER_S:.0f} s; the service ends, "
                "and finds its jobs in the journal when it is started again"
            )


def _answers(place: tuple[str, int]) -> bool:
    try:
        socket.create_connection(place, timeout=PROBE_TIMEOUT_S).close()
    except OSError:
        return False
    return True
