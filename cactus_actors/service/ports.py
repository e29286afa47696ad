"""Whether the ports of a service are free: better known before everything starts than at the end of it."""

from __future__ import annotations

import errno
import socket
import time
from collections.abc import Iterator

from cactus_actors.config import ServeConfig
from cactus_actors.protocol.errors import ConfigurationInvalid

WAIT_S = 5.0
"""How long those of a service that has just died are waited for."""
POLL_S = 0.1


def check_ports(config: ServeConfig, wait_s: float = WAIT_S) -> None:
    """Raises ConfigurationInvalid for a port that somebody else listens on, naming the option for another.

    What cannot be told here, such as a host that is none, is left to whoever listens there.
    """
    until = time.monotonic() + wait_s
    for option, endpoint, address in _addresses(config):
        while _is_taken(address):
            if time.monotonic() >= until:
                raise ConfigurationInvalid(
                    f"{endpoint} is in use, perhaps by another service; choose another with {option}"
                )
            time.sleep(POLL_S)


def _addresses(config: ServeConfig) -> Iterator[tuple[str, str, tuple[str, int]]]:
    """The option, what it says, and where that is, of each port that is not free to choose."""
    endpoints = {
        "--jobs-endpoint": config.jobs_endpoint,
        "--stream-endpoint": config.stream_endpoint,
        "--workers-endpoint": config.workers_endpoint or "",
        "--http": config.http,
    }
    for option, endpoint in endpoints.items():
        transport, _, place = endpoint.rpartition("://")
        host, _, port = place.rpartition(":")
        if transport in ("", "tcp") and port.isdecimal() and 0 < int(port) < 65_536:
            yield option, endpoint, ("" if host == "*" else host.strip("[]"), int(port))


def _is_taken(address: tuple[str, int]) -> bool:
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    try:
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        return error.errno == errno.EADDRINUSE
    except UnicodeError:  # the host cannot be one
        return False
    return False
