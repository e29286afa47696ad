"""The gateway's timeouts for clients and for the service."""

from __future__ import annotations

import msgspec


class GatewayTimeouts(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds. Operators need not change them; tests shorten them."""

    headers_s: float = 15.0
    """Time from a connection, or the last response, to the end of the next request's headers."""
    body_s: float = 60.0
    """For a body that does not arrive, or arrives too slowly."""
    linger_s: float = 5.0
    """Time in which the rest of a refused request is read and dropped; a reset would lose the response."""
    reader_s: float = 30.0
    """For a client that leaves the send buffer full."""
    peer_s: int = 30
    """For a peer whose machine or network is gone, by the kernel's TCP timers."""
    keep_alive_s: int = 30
    closing_s: int = 2
    """For clients to read pending responses when the gateway stops."""
    status_interval_s: float = 1.0
    status_valid_s: float = 5.0
    status_answer_s: float = 1.0
    totals_answer_s: float = 2.0
    """For the status with totals that a scrape of /metrics needs."""
    sample_interval_s: float = 2.0
    """Between two samples of the service for its page."""
    batch_window_s: float = 24 * 3600
    batch_retry_s: float = 5.0
    """Delay before a batch is retried that the service refused."""


DEFAULT_TIMEOUTS = GatewayTimeouts()
