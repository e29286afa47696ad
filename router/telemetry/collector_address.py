"""Checks the address of an OpenTelemetry collector; the service does so before it starts anything."""

from __future__ import annotations

from urllib.parse import urlsplit

from cactus_actors.protocol.errors import ConfigurationInvalid


def check_collector(endpoint: str) -> None:
    """Raise ConfigurationInvalid unless `endpoint` can be the address of an OpenTelemetry collector."""
    try:
        parts = urlsplit(endpoint)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        raise ConfigurationInvalid(f"otlp_endpoint: {endpoint!r} is not http://HOST:PORT", param="otlp_endpoint")
