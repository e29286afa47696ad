"""A Ray cluster of two nodes on this machine, to demonstrate the loss of one."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Self

from cactus_actors.placement.ray import ray_session
from cactus_actors.placement.ray.private_ray import PrivateRay, start_ray
from cactus_actors.placement.ray.ray_directory import make_ray_directory
from cactus_actors.placement.ray.ray_output import RayOutput
from cactus_actors.placement.ray.reaper import Reaper


class AddedNode:
    """A second Ray node on this machine, in place of another machine that can be lost.

    It joins the Ray at `address`, and ends with this process, however that ends. It has joined when an actor is
    placed on its `num_cpus`. Its output goes to `output`. Raises ConfigurationInvalid if it has no directory.
    """

    def __init__(self, address: str, num_cpus: int, output: RayOutput) -> None:
        directory = make_ray_directory()
        ports = ["--min-worker-port=0", "--max-worker-port=0"]  # the first node here uses the default ports
        self._process = start_ray([f"--address={address}", f"--num-cpus={num_cpus}", *ports], directory, output)
        self._reaper = Reaper(self._process.pid, directory)

    def has(self, pid: int) -> bool:
        """True if a process runs on this node; always False without /proc."""
        return pid in self._reaper.processes()

    def kill(self) -> None:
        """Kill all its processes at once, like a power failure; a second call does nothing."""
        self._reaper.reap()
        self._process.wait()


class PrivateCluster:
    """Ends with this process, however that ends. Until it is closed this process is connected to it.

    The first node has CPUs for all of `num_workers` but one, which is placed on `added`. Ray's output goes to a file
    in `state_dir`. `prepare_environment` must have been called. Raises like PrivateRay, and Ray's own errors.
    """

    def __init__(self, num_workers: int, state_dir: Path, announce: Callable[[str], None]) -> None:
        with contextlib.ExitStack() as stack:
            output = stack.enter_context(contextlib.closing(RayOutput(state_dir, announce, sys.stdout)))
            stack.enter_context(contextlib.redirect_stdout(output))
            first = PrivateRay(output, announce, num_workers - 1)
            stack.callback(first.close)
            self.address = first.address
            ray_session.connect(first.address)  # before a second node exists that Ray could choose
            stack.callback(ray_session.disconnect, output)
            self.added = AddedNode(first.address, 1, output)
            stack.callback(self.added.kill)
            self._closing = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()
