"""A private Ray instance: `ray start --block` in a process session and a directory of its own."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from cactus_actors.placement.ray.local_growth import LocalGrowth
from cactus_actors.placement.ray.ray_directory import OPEN, make_ray_directory
from cactus_actors.placement.ray.ray_environment import RAY_TIMEOUTS
from cactus_actors.placement.ray.ray_output import RayOutput
from cactus_actors.placement.ray.reaper import Reaper, exited_child
from cactus_actors.protocol.errors import ConfigurationInvalid, Unavailable

START_TIMEOUT_S = 600.0
"""A starved machine may need minutes; a failed start is tried again within this time."""
SLOW_START_S = 15.0
POLL_INTERVAL_S = 0.2
PARTS = ("gcs_server", "raylet")
"""Programs without which Ray never starts."""
MAX_REASON = 120
# Ray transports no large objects: tokens go over ZeroMQ and weights through the page cache.
OBJECT_STORE_BYTES = 80 * 1024 * 1024
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108  where Linux has it, shm_overview(7)


class PrivateRay:
    """Starts in the constructor; ends with this process, however that ends.

    Its node has `num_cpus`, by default those of the machine; with `growth` it adds others. Its output goes to `output`;
    `announce` receives progress messages. Raises ConfigurationInvalid without a directory or shared memory, and
    Unavailable if it cannot be started.
    """

    def __init__(
        self,
        output: RayOutput,
        announce: Callable[[str], None],
        num_cpus: int | None = None,
        growth: LocalGrowth | None = None,
    ) -> None:
        self._output = output
        self._announce = announce
        self._num_cpus = os.cpu_count() if num_cpus is None else num_cpus
        self._growth = growth
        check_shared_memory()
        self._launch()
        try:
            self.address = self._wait()
        except BaseException:
            self.close()
            raise

    def has_ended(self) -> bool:
        """True if its server or its node has ended; its other processes then end too."""
        return self._process.poll() is not None

    def close(self) -> None:
        """End all its processes and remove its directory; a second call does nothing."""
        self._reaper.reap()
        self._process.wait()

    def _launch(self) -> None:
        directory = make_ray_directory()
        self._address_file = directory / OPEN / "ray_current_cluster"
        options, environment = _head_options(self._num_cpus), {}
        if self._growth is None:
            options.append("--no-monitor")
        else:
            options += self._growth.options(directory, OBJECT_STORE_BYTES)
            environment = self._growth.environment
        self._process = start_ray(options, directory, self._output, environment)
        self._reaper = Reaper(self._process.pid, directory)

    def _wait(self) -> str:
        """Wait for its address, without limit while it runs; start it again when it ends."""
        started_at = time.monotonic()
        give_up_at = started_at + START_TIMEOUT_S
        announce_at = started_at + SLOW_START_S
        while not (address := _read(self._address_file)):
            now = time.monotonic()
            if reason := self._failure():
                self.close()
                if now >= give_up_at:
                    raise Unavailable(f"Ray does not start: {reason} (more in {self._output.path})")
                self._announce(f"Ray did not start ({reason}); it is started again")
                self._launch()
            elif now >= announce_at:
                announce_at = float("inf")
                self._announce(f"Ray takes longer than {SLOW_START_S:.0f} s to start on this machine")
            time.sleep(POLL_INTERVAL_S)
        return address

    def _failure(self) -> str:
        """The reason why this start has failed; "" while it may still succeed."""
        if self.has_ended():
            return self._output.last_line()[:MAX_REASON] or f"exit status {self._process.returncode}"
        name = exited_child(self._process.pid, PARTS)
        return f"{name} exited" if name else ""


def start_ray(
    options: list[str], directory: Path, output: RayOutput, environment: Mapping[str, str] = MappingProxyType({})
) -> subprocess.Popen[bytes]:
    """Run `ray start --block` in a process session of its own, with its files in `directory`."""
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", *options]
    command += ["--disable-usage-stats", "--include-log-monitor=false", f"--temp-dir={directory / OPEN}"]
    command += [f"--object-store-memory={OBJECT_STORE_BYTES}"]
    return subprocess.Popen(
        command,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=output.descriptor,
        stderr=output.descriptor,
        start_new_session=True,  # signals of the terminal are not meant for it
    )


def check_shared_memory() -> None:
    """Raise ConfigurationInvalid on Linux without writable shared memory: Ray would hang, and report another error."""
    if sys.platform != "linux":
        return
    try:
        tempfile.TemporaryFile(dir=SHARED_MEMORY).close()
    except OSError as error:
        raise ConfigurationInvalid(
            f"{SHARED_MEMORY}: {error.strerror or error}; "
            "Ray needs it for its object store; in a container, mount it (--shm-size)"
        ) from None


def _head_options(num_cpus: int | None) -> list[str]:
    options = ["--head", "--port=0", f"--num-cpus={num_cpus}", "--include-dashboard=false"]
    options.append(f"--system-config={json.dumps(RAY_TIMEOUTS)}")
    if importlib.util.find_spec("grpc") is not None:
        options.append("--ray-client-server-port=0")  # with grpc installed, Ray would open a port to all
    return options


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except FileNotFoundError:
        return ""
