"""Chooses the configured placement."""

from __future__ import annotations

import os
from collections.abc import Callable

from cactus_actors.config import ServeConfig
from cactus_actors.placement.interface import Placement
from cactus_actors.placement.local import LocalPlacement
from cactus_actors.placement.local.core_pool import CorePool
from cactus_actors.placement.ray.ray_environment import prepare_environment, require_ray
from cactus_actors.process.cpu_cores import cores_of, may_share_cpus
from cactus_actors.protocol.errors import ConfigurationInvalid


def uses_ray(config: ServeConfig) -> bool:
    """True if Ray places the actors; raises ConfigurationInvalid for contradicting settings, and without Ray."""
    if config.placement == "local" and config.ray_address is not None:
        raise ConfigurationInvalid(
            "--placement local runs on this machine alone: leave out --ray-address, or use --placement ray",
            param="placement",
        )
    if config.ray_address is None and config.placement != "ray":
        return False
    require_ray("--placement ray" if config.ray_address is None else "--ray-address")
    return True


def make_placement(config: ServeConfig, num_threads: int, announce: Callable[[str], None]) -> Placement:
    """Open the placement, for workers that have `num_threads` in all; raises ConfigurationInvalid and Unavailable."""
    state_dir = config.state_dir.expanduser()
    if not uses_ray(config):
        announce("placing: actors are processes of this machine")
        return LocalPlacement(state_dir, announce, _cores_for(config, num_threads, announce))
    # Ray is slow and large: it is imported only where it is used.
    if config.ray_address is None:
        announce("placing: a private Ray instance starts, which places the actors")
        prepare_environment(state_dir)
        from cactus_actors.placement.ray.private_ray_placement import PrivateRayPlacement

        return PrivateRayPlacement(state_dir, announce)
    from cactus_actors.placement.ray.ray_placement import RayPlacement

    announce(f"placing: actors are placed by the Ray cluster at {config.ray_address}")
    return RayPlacement(config.ray_address, state_dir, announce)


def _cores_for(config: ServeConfig, num_threads: int, announce: Callable[[str], None]) -> CorePool:
    """A core for each thread of local workers, if there are enough and they are not shared with other containers."""
    cpus = os.sched_getaffinity(0)
    is_pinned = config.pin == "auto" and not may_share_cpus(cpus)
    pool = CorePool(cores_of(cpus), num_threads if is_pinned else 0)
    if pool.other_cpus:
        announce(f"pinned: the threads of workers have a core each (cores: {num_threads})")
    return pool
