"""One more node of a Ray on this machine, as if it were another machine: it can be lost."""

from __future__ import annotations

import subprocess
import sys

from cactus_actors.placement.ray.private_ray import OBJECT_STORE_BYTES
from cactus_actors.placement.ray.ray_directory import OPEN, make_ray_directory
from cactus_actors.placement.ray.ray_output import RayOutput
from cactus_actors.placement.ray.reaper import Reaper


class AddedNode:
    """Begun by the constructor, at the Ray at `address`; ends with this process, however that ends.

    It has joined once something is placed on its `num_cpus`. What it prints goes to `output`. Raises
    ConfigurationInvalid where it has no place.
    """

    def __init__(self, address: str, num_cpus: int, output: RayOutput) -> None:
        directory = make_ray_directory()
        words = ["start", f"--address={address}", "--block", f"--num-cpus={num_cpus}"]
        words += ["--disable-usage-stats", "--include-log-monitor=false", f"--temp-dir={directory / OPEN}"]
        words += [f"--object-store-memory={OBJECT_STORE_BYTES}"]
        words += ["--min-worker-port=0", "--max-worker-port=0"]  # the other node here has the usual ones
        self._process = subprocess.Popen(
            [sys.executable, "-m", "ray.scripts.scripts", *words],
            stdin=subprocess.DEVNULL,
            stdout=output.descriptor,
            stderr=output.descriptor,
            start_new_session=True,  # what is typed at this process's terminal is not meant for it
        )
        self._reaper = Reaper(self._process.pid, directory)

    def has(self, pid: int) -> bool:
        """Whether that process runs on it; where there is no /proc, nobody knows of any."""
        return pid in self._reaper.processes()

    def kill(self) -> None:
        """Kill all its processes at once, as if its machine lost its power; a second time changes nothing."""
        self._reaper.reap()
        self._process.wait()
