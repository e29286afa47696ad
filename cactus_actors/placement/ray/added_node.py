"""A second Ray node on this machine, which stands for another machine that can be lost."""

from __future__ import annotations

import subprocess
import sys

from cactus_actors.placement.ray.private_ray import OBJECT_STORE_BYTES
from cactus_actors.placement.ray.ray_directory import OPEN, make_ray_directory
from cactus_actors.placement.ray.ray_output import RayOutput
from cactus_actors.placement.ray.reaper import Reaper


class AddedNode:
    """Joins the Ray at `address`; ends with this process, however that ends.

    It has joined when an actor is placed on its `num_cpus`. Its output goes to `output`. Raises
    ConfigurationInvalid if it has no directory.
    """

    def __init__(self, address: str, num_cpus: int, output: RayOutput) -> None:
        directory = make_ray_directory()
        words = ["start", f"--address={address}", "--block", f"--num-cpus={num_cpus}"]
        words += ["--disable-usage-stats", "--include-log-monitor=false", f"--temp-dir={directory / OPEN}"]
        words += [f"--object-store-memory={OBJECT_STORE_BYTES}"]
        words += ["--min-worker-port=0", "--max-worker-port=0"]  # the first node here uses the default ports
        self._process = subprocess.Popen(
            [sys.executable, "-m", "ray.scripts.scripts", *words],
            stdin=subprocess.DEVNULL,
            stdout=output.descriptor,
            stderr=output.descriptor,
            start_new_session=True,  # signals of the terminal are not meant for it
        )
        self._reaper = Reaper(self._process.pid, directory)

    def has(self, pid: int) -> bool:
        """Whether a process runs on this node; False for all without /proc."""
        return pid in self._reaper.processes()

    def kill(self) -> None:
        """Kill all its processes at once, like a power failure; a second call does nothing."""
        self._reaper.reap()
        self._process.wait()
