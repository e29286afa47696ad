"""The Ray cluster of a service, if it has one."""

from __future__ import annotations

from importlib import metadata
from importlib.util import find_spec

from cactus_actors.config import ServeConfig
from cactus_actors.doctor.finding import Finding
from cactus_actors.protocol.errors import CactusError
from cactus_actors.service.placement_choice import uses_ray


def cluster(config: ServeConfig) -> Finding:
    """Ray answers at the address with this token, and has the version of this machine.

    Ray refuses a driver with another version of Ray or of Python.
    """
    version = f"Ray {metadata.version('ray')}" if find_spec("ray") is not None else "no Ray"
    try:
        if not uses_ray(config):
            return Finding(subject="cluster", grade="good", text=f"not used; {version} is installed")
        if config.ray_address is None:
            return Finding(subject="cluster", grade="good", text=f"a private instance of {version}")
        num_nodes = _num_nodes(config.ray_address)
    except CactusError as error:
        advice = "docs/guide/deployment.md has the steps: Ray and its token on every node"
        return Finding(subject="cluster", grade="bad", text=error.message, advice=advice)
    text = f"{version} at {config.ray_address} answers; nodes: {num_nodes}"
    return Finding(subject="cluster", grade="good", text=text, figures={"nodes": num_nodes})


def _num_nodes(address: str) -> int:
    import ray

    from cactus_actors.placement.ray import ray_session

    ray_session.join(address)
    try:
        return ray_session.num_nodes()
    finally:
        ray.shutdown()
