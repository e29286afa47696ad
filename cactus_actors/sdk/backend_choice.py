"""Chooses the backend of a model handle by name; backends are imported when they are used."""

from __future__ import annotations

import os

from cactus_actors.config import HandoffSettings
from cactus_actors.config_models import WeightFormat
from cactus_actors.sdk.backend import Backend


def backend_of(
    name: str, stream_endpoint: str | None, weights: WeightFormat, threads: int | None, handoff: HandoffSettings | None
) -> Backend:
    """The service at an address, or a model in this process.

    Raises Unavailable for a service that does not answer, ModelFileInvalid and ConfigurationInvalid.
    """
    if name.startswith("tcp://"):
        from cactus_actors.sdk.remote_backend import RemoteBackend

        return RemoteBackend(name, stream_endpoint)
    if name.startswith(("http://", "https://")):
        from cactus_actors.sdk.http_backend import HttpBackend

        return HttpBackend(name)
    from cactus_actors.sdk.engine_choice import EngineChoice
    from cactus_actors.sdk.local_backend import LocalBackend

    threads = len(os.sched_getaffinity(0)) if threads is None else threads
    return LocalBackend(EngineChoice(model=name, weights=weights, threads=threads), handoff or HandoffSettings())
