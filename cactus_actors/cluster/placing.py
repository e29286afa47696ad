"""Which placement a configuration asks for."""

from __future__ import annotations

from collections.abc import Callable

from cactus_actors.config import ServeConfig
from cactus_actors.placement.interface import Placement
from cactus_actors.placement.local import LocalPlacement
from cactus_actors.protocol.errors import ConfigurationInvalid


def uses_ray(config: ServeConfig) -> bool:
    """Whether Ray places the actors; raises ConfigurationInvalid for settings that contradict each other."""
    if config.placement == "local" and config.ray_address is not None:
        raise ConfigurationInvalid(
            "--placement local runs on this machine alone: leave out --ray-address, or say --placement ray",
            param="placement",
        )
    return config.placement == "ray" or config.ray_address is not None


def open_placement(config: ServeConfig, announce: Callable[[str], None]) -> Placement:
    """The placement, ready to start actors; raises ConfigurationInvalid and Unavailable."""
    state_dir = config.state_dir.expanduser()
    if not uses_ray(config):
        return LocalPlacement(state_dir, announce)
    # Ray takes its time and its memory: whoever does without it does not import it.
    from cactus_actors.cluster.ray_placement import RayPlacement

    return RayPlacement(config.ray_address, state_dir, announce)
