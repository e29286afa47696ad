"""The OpenTelemetry collector that receives spans of jobs."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping

from cactus_actors.config import ServeConfig
from cactus_actors.router.telemetry.collector_address import check_collector

ENDPOINT_VARIABLE = "OTEL_EXPORTER_OTLP_ENDPOINT"
DISABLED_VARIABLE = "OTEL_SDK_DISABLED"


def otlp_endpoint(config: ServeConfig, environment: Mapping[str, str], announce: Callable[[str], None]) -> str | None:
    """The configured endpoint, otherwise the one of the environment.

    Raises ConfigurationInvalid for an invalid configured endpoint. An environment variable may be meant for other
    programs: a missing exporter is then announced, and no error.
    """
    if config.otlp_endpoint is not None:
        if config.otlp_endpoint:
            check_collector(config.otlp_endpoint)
        return config.otlp_endpoint or None
    endpoint = environment.get(ENDPOINT_VARIABLE, "")
    if not endpoint or environment.get(DISABLED_VARIABLE, "").lower() == "true":
        return None
    if not _has_exporter():
        announce(f"{ENDPOINT_VARIABLE} is set, but no spans are sent: pip install 'cactus-actors[otel]'")
        return None
    return endpoint


def _has_exporter() -> bool:
    try:
        return importlib.util.find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:
        return False
