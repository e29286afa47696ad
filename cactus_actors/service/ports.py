"""Checks the endpoints of a service before anything is started: their syntax, and that their ports are free."""

from __future__ import annotations

import errno
import socket
import time
from collections.abc import Iterator

from cactus_actors.config import ServeConfig
from cactus_actors.gateway.http.api_keys import host_and_port
from cactus_actors.protocol.errors import ConfigurationInvalid

MAX_PORT = 65_535
WAIT_S = 5.0
"""Seconds to wait for the ports of a service that has just ended."""
POLL_S = 0.1


def check_forms(config: ServeConfig) -> None:
    """Raise ConfigurationInvalid for an invalid endpoint, naming its option."""
    for option, endpoint in _zeromq_endpoints(config).items():
        if not _is_endpoint(endpoint):
            raise ConfigurationInvalid(
                f"{option}: {endpoint!r} is not an endpoint; use tcp://127.0.0.1:5555, "
                "tcp://127.0.0.1:* for any free port, or ipc:///directory/socket",
                param=option.removeprefix("--").replace("-", "_"),
            )
    for option, listen in (("http", config.http), ("ollama", config.ollama)):
        if listen:
            host_and_port(listen, option)
    if config.ollama and not config.http:
        raise ConfigurationInvalid("--ollama is an address of the HTTP gateway, which is switched off", param="ollama")


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


def _zeromq_endpoints(config: ServeConfig) -> dict[str, str]:
    endpoints = {
        "--jobs-endpoint": config.jobs_endpoint,
        "--stream-endpoint": config.stream_endpoint,
        "--workers-endpoint": config.workers_endpoint,
    }
    return {option: endpoint for option, endpoint in endpoints.items() if endpoint is not None}


def _is_endpoint(endpoint: str) -> bool:
    transport, separator, place = endpoint.partition("://")
    if transport == "ipc":
        return bool(separator and place)
    host, colon, port = place.rpartition(":")
    is_port = port == "*" or (port.isascii() and port.isdecimal() and int(port) <= MAX_PORT)
    return transport == "tcp" and bool(host and colon) and is_port


def _addresses(config: ServeConfig) -> Iterator[tuple[str, str, tuple[str, int]]]:
    """Option, endpoint and address of each fixed port."""
    for option, endpoint in (_zeromq_endpoints(config) | {"--http": config.http, "--ollama": config.ollama}).items():
        transport, _, place = endpoint.rpartition("://")
        host, _, port = place.rpartition(":")
        if transport in ("", "tcp") and port.isdecimal() and 0 < int(port) <= MAX_PORT:
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
