"""Chooses the backend of a model handle by name; backends are imported when they are used."""

from __future__ import annotations

import os

from cactus_actors.config import HandoffSettings, WeightFormat
from cactus_actors.sdk.backend import Backend


def is_service(name: str) -> bool:
    """Whether a name is the address of a running service."""
    return name.startswith(("tcp://", "http://", "https://"))


def service_at(address: str, stream_endpoint: str | None) -> Backend:
    """A running service; raises Unavailable if it does not answer."""
    if address.startswith("tcp://"):
        from cactus_actors.sdk.remote_backend import RemoteBackend

        return RemoteBackend(address, stream_endpoint)
    from cactus_actors.sdk.http_backend import HttpBackend

    return HttpBackend(address)


def model_here(name_or_path: str, weights: WeightFormat, threads: int | None, handoff: HandoffSettings) -> Backend:
    """A model in this process; raises ModelFileInvalid and ConfigurationInvalid."""
    from cactus_actors.sdk.local_backend import LocalBackend

    threads = len(os.sched_getaffinity(0)) if threads is None else threads
    return LocalBackend(name_or_path, weights=weights, threads=threads, handoff=handoff)
