"""The CURVE key files of a service's actors; only paths are passed, and each actor reads its own file."""

from __future__ import annotations

from dataclasses import dataclass

from cactus_actors.config import ServeConfig
from cactus_actors.keys.exposure import check_exposure, is_private
from cactus_actors.keys.key_store import KeyStore, keys_dir
from cactus_actors.protocol.errors import ConfigurationInvalid

WORKER_KEY, GATEWAY_KEY = "service-workers", "service-gateway"


@dataclass(frozen=True)
class ServiceKeys:
    """Paths of key files; all None for a service without CURVE."""

    directory: str | None = None
    worker: str | None = None
    gateway: str | None = None


def service_keys(config: ServeConfig) -> ServiceKeys:
    """Create the keys that the service itself needs.

    Raises ConfigurationInvalid for an endpoint that others can reach without a key, or if no client has a key.
    """
    check_endpoints(config)
    if not config.curve:
        return ServiceKeys()
    store = KeyStore(keys_dir(config.state_dir))
    gateway = store.own(GATEWAY_KEY, "client")
    worker = config.worker_key_file or store.own(WORKER_KEY, "worker")
    return ServiceKeys(str(store.directory), str(worker.expanduser()), str(gateway))


def check_endpoints(config: ServeConfig) -> None:
    """Raise ConfigurationInvalid like `service_keys`, and create nothing."""
    endpoints = (config.jobs_endpoint, config.stream_endpoint, config.workers_endpoint)
    check_exposure([it for it in endpoints if it is not None], has_keys=config.curve)
    if not config.curve or is_private(config.jobs_endpoint):
        return
    known = KeyStore(keys_dir(config.state_dir)).known()
    if not any(key.role != "worker" and key.name != GATEWAY_KEY for key in known):
        raise ConfigurationInvalid(
            f"{config.jobs_endpoint} is for clients on other machines, and none has a key: "
            "cactus keys new NAME --role client"
        )
