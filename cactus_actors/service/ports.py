"""Checks that the ports of a service are free, before anything is started."""

from __future__ import annotations

import errno
import socket
import time
from collections.abc import Iterator

from cactus_actors.config import ServeConfig
from cactus_actors.protocol.errors import ConfigurationInvalid

WAIT_S = 5.0
"""How long to wait for the ports of a service that has just ended."""
POLL_S = 0.1


def check_ports(config: ServeConfig, wait_s: float = WAIT_S) -> None:
    """Raise ConfigurationInvalid for a port in use, naming its option.

    Other problems, such as an unknown host, are left to the actor that binds the port.
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
    """Option, endpoint and address of each fixed port."""
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
    except UnicodeError:  # not a valid host name
        return False
    return False
