"""Whether Ray's own server answers: without it nothing is placed, and nothing is known of what has died."""

from __future__ import annotations

import socket
from collections.abc import Callable

from cactus_actors.placement.interface import PlacementLost

POLL_INTERVAL_S = 1.0
PROBE_TIMEOUT_S = 1.0
LOST_AFTER_S = 30.0
"""Ray ends every node, and its driver's process, 60 s after the server was last there."""


class ControlPlane:
    """Ray's server (the GCS) at HOST:PORT, looked at once a second; time is an argument."""

    def __init__(self, address: str, announce: Callable[[str], None]) -> None:
        host, _, port = address.rpartition(":")
        self._place = (host, int(port))
        self._announce = announce
        self._next_probe_at = 0.0
        self._missing_since: float | None = None

    def is_there(self, now: float) -> bool:
        """Whether actors can be started; announces each change.

        Raises PlacementLost once the server was missing for so long that the service must end in order.
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
            self._announce("control_plane_down: Ray's server does not answer; what runs goes on, nothing is replaced")
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
