"""Where the actors of a run have their answers from."""

from __future__ import annotations

from dataclasses import dataclass

from cactus_actors.sdk.engine_choice import EngineChoice


@dataclass(frozen=True, kw_only=True)
class ServicePlace:
    """A running service, at endpoints that every node reaches."""

    endpoint: str
    stream_endpoint: str | None = None
    key_file: str | None = None


@dataclass(frozen=True)
class EnginePlace:
    """An engine in the process of each actor."""

    choice: EngineChoice
