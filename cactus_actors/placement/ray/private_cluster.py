"""A Ray cluster of two nodes on this machine, to demonstrate the loss of one."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

from cactus_actors.placement.ray import ray_session
from cactus_actors.placement.ray.private_ray import POLL_INTERVAL_S, START_TIMEOUT_S, PrivateRay, start_ray
from cactus_actors.placement.ray.ray_directory import make_ray_directory
from cactus_actors.placement.ray.ray_output import RayOutput
from cactus_actors.placement.ray.reaper import Reaper
from cactus_actors.protocol.errors import Unavailable


class AddedNode:
    """A second Ray node on this machine, in place of another machine that can be lost.

    It joins the Ray at `address`, to which this process is connected, in the constructor, and ends with this process,
    however that ends. Its output goes to `output`. Raises ConfigurationInvalid if it has no directory, and
    Unavailable if it cannot be started.
    """

    def __init__(self, address: str, num_cpus: int, output: RayOutput) -> None:
        self._options = [f"--address={address}", f"--num-cpus={num_cpus}"]
        self._options += ["--min-worker-port=0", "--max-worker-port=0"]  # the first node here uses the default ports
        self._output = output
        self._launch()
        try:
            self._join(ray_session.num_nodes() + 1)
        except BaseException:
            self.kill()
            raise

    def has(self, pid: int) -> bool:
        """True if a process runs on this node; always False without /proc."""
        return pid in self._reaper.processes()

    def kill(self) -> None:
        """Kill all its processes at once, like a power failure; a second call does nothing."""
        self._reaper.reap()
        self._process.wait()

    def _launch(self) -> None:
        directory = make_ray_directory()
        self._process = start_ray(self._options, directory, self._output)
        self._reaper = Reaper(self._process.pid, directory)

    def _join(self, num_nodes: int) -> None:
        """Wait until Ray has `num_nodes` nodes; start this one again when it ends, which Ray does after 30 s."""
        give_up_at = time.monotonic() + START_TIMEOUT_S
        while ray_session.num_nodes() < num_nodes:
            if self._process.poll() is not None:
                self.kill()
                if time.monotonic() >= give_up_at:
                    raise Unavailable(f"a node of Ray does not start (more in {self._output.path})")
                self._launch()
            time.sleep(POLL_INTERVAL_S)


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
