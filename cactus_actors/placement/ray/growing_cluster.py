"""A Ray cluster on this machine that grows with its work, to demonstrate growth and the loss of a node."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from ray._private.state import state as ray_state

from cactus_actors.placement.ray import ray_session
from cactus_actors.placement.ray.local_growth import LocalGrowth
from cactus_actors.placement.ray.private_ray import PrivateRay
from cactus_actors.placement.ray.ray_output import RayOutput
from cactus_actors.placement.ray.reaper import PROCESSES, kill_tree


class GrowingCluster:
    """Has one node of one CPU, and Ray adds others while work waits for a CPU, up to `max_nodes` in all.

    Ends with this process, however that ends; until it is closed this process is connected to it. What Ray says about
    the loss of a node is in its file in `state_dir`. `prepare_environment` must have been called. Raises like
    PrivateRay, and Ray's own errors.
    """

    def __init__(self, max_nodes: int, state_dir: Path, announce: Callable[[str], None]) -> None:
        with contextlib.ExitStack() as stack:
            output = stack.enter_context(contextlib.closing(RayOutput(state_dir, _keep_quiet, sys.stdout)))
            stack.enter_context(contextlib.redirect_stdout(output))
            ray = PrivateRay(output, announce, num_cpus=1, growth=LocalGrowth(max_nodes=max_nodes - 1))
            stack.callback(ray.close)
            self.address = ray.address
            ray_session.connect(ray.address)
            stack.callback(ray_session.disconnect, output)
            [first] = _nodes()
            self._first = first["NodeID"]
            self._closing = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    @property
    def num_nodes(self) -> int:
        """The nodes that run."""
        return len(_nodes())

    def kill_added_node(self) -> None:
        """Kill all processes of a node that was added, at once, like a power failure; nothing without one."""
        for node in _nodes():
            if node["NodeID"] != self._first:
                kill_tree(_raylet(node["RayletSocketName"]))
                return


def _keep_quiet(_: str) -> None:
    pass


def _nodes() -> list[dict[str, Any]]:
    nodes: list[dict[str, Any]] = ray_state.node_table()  # type: ignore[no-untyped-call]
    return [node for node in nodes if node["Alive"]]


def _raylet(socket_name: str) -> int:
    """The process of a node that listens on a socket."""
    words = (b"raylet", f"--raylet_socket_name={socket_name}".encode())
    for place in PROCESSES.glob("[0-9]*"):
        with contextlib.suppress(OSError):
            program, *arguments = (place / "cmdline").read_bytes().split(b"\0")
            if program.endswith(words[0]) and words[1] in arguments:
                return int(place.name)
    raise ProcessLookupError(socket_name)
