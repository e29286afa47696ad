"""Checks the syntax of the service's endpoints."""

from __future__ import annotations

from cactus_actors.config import ServeConfig
from cactus_actors.gateway.http.api_keys import host_and_port
from cactus_actors.protocol.errors import ConfigurationInvalid

MAX_PORT = 65_535


def check_forms(config: ServeConfig) -> None:
    """Raise ConfigurationInvalid for an invalid endpoint, naming its option."""
    endpoints = {
        "--jobs-endpoint": config.jobs_endpoint,
        "--stream-endpoint": config.stream_endpoint,
        "--workers-endpoint": config.workers_endpoint,
    }
    for option, endpoint in endpoints.items():
        if endpoint is not None and not _is_endpoint(endpoint):
            raise ConfigurationInvalid(
                f"{option}: {endpoint!r} is not an endpoint; use tcp://127.0.0.1:5555, "
                "tcp://127.0.0.1:* for any free port, or ipc:///directory/socket",
                param=option.removeprefix("--").replace("-", "_"),
            )
    if config.http:
        host_and_port(config.http)


def _is_endpoint(endpoint: str) -> bool:
    transport, separator, place = endpoint.partition("://")
    if transport == "ipc":
        return bool(separator and place)
    host, colon, port = place.rpartition(":")
    is_port = port == "*" or (port.isascii() and port.isdecimal() and int(port) <= MAX_PORT)
    return transport == "tcp" and bool(host and colon) and is_port
