"""Chooses the configured placement."""

from __future__ import annotations

from collections.abc import Callable

from cactus_actors.config import ServeConfig
from cactus_actors.placement.interface import Placement
from cactus_actors.placement.local import LocalPlacement
from cactus_actors.protocol.errors import ConfigurationInvalid


def uses_ray(config: ServeConfig) -> bool:
    """True if Ray places the actors; raises ConfigurationInvalid for contradicting settings."""
    if config.placement == "local" and config.ray_address is not None:
        raise ConfigurationInvalid(
            "--placement local runs on this machine alone: leave out --ray-address, or use --placement ray",
            param="placement",
        )
    return config.placement == "ray" or config.ray_address is not None


def make_placement(config: ServeConfig, announce: Callable[[str], None]) -> Placement:
    """Open the placement; raises ConfigurationInvalid and Unavailable."""
    state_dir = config.state_dir.expanduser()
    if not uses_ray(config):
        announce("placing: actors are processes of this machine")
        return LocalPlacement(state_dir, announce)
    # Ray is slow and large: it is imported only where it is used.
    if config.ray_address is None:
        from cactus_actors.placement.ray.ray_environment import prepare_environment

        announce("placing: a private Ray instance starts, which places the actors")
        prepare_environment(state_dir)
        from cactus_actors.placement.ray.private_ray_placement import PrivateRayPlacement

        return PrivateRayPlacement(state_dir, announce)
    from cactus_actors.placement.ray.ray_placement import RayPlacement

    announce(f"placing: actors are placed by the Ray cluster at {config.ray_address}")
    return RayPlacement(config.ray_address, state_dir, announce)
