"""The actors of a run, and where they have their answers from."""

from __future__ import annotations

from dataclasses import dataclass

from cactus_actors.sdk.engine_choice import EngineChoice

ASKING_CPUS = 0.1  # of an actor that asks a service


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


@dataclass(frozen=True, kw_only=True)
class Pool:
    """The actors of a run: at most `max_actors`, by default as many as the cluster has room for."""

    place: ServicePlace | EnginePlace
    max_actors: int | None = None

    @property
    def num_cpus(self) -> float:
        """Of each actor."""
        return self.place.choice.threads if isinstance(self.place, EnginePlace) else ASKING_CPUS
