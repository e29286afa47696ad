"""Two machines without machines: namespaces with host names, addresses and homes of their own, and a cable."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.support.paths import ROOT
from tests.support.processes.serve_command import below

_MACHINE = """
set -e
hostname "$1"
ip link set lo up
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
echo made
sleep infinity
"""


class Laptop:
    """A machine whose processes end with the process `pid`; commands run as root, with `home` as their home."""

    def __init__(self, pid: int, home: Path) -> None:
        self.pid = pid
        self.home = home
        home.mkdir()
        (home / "bin").mkdir()
        for name, module in (("cactus", "cactus_actors.cli.main"), ("ray", "ray.scripts.scripts")):
            program = home / "bin" / name
            program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {module} "$@"\n')
            program.chmod(0o755)

    def command(self, script: str, environment: Mapping[str, str]) -> list[str]:
        """The command line that runs a shell script there."""
        given = {
            "HOME": str(self.home),
            "RAY_TMPDIR": str(self.home),
            "PATH": f"{self.home}/bin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "PYTHONPATH": str(ROOT),
            "CACTUS_CACHE_DIR": os.environ["CACTUS_CACHE_DIR"],
            **environment,
        }
        enter = ["nsenter", f"--target={self.pid}", "--net", "--pid", "--mount", "--uts", "--ipc"]
        return [*enter, "env", "-i", *(f"{name}={value}" for name, value in given.items()), "bash", "-ec", script]


@contextmanager
def _laptop(name: str, directory: Path) -> Iterator[Laptop]:
    kinds = ["--net", "--pid", "--mount", "--uts", "--ipc", "--mount-proc"]
    command = ["unshare", *kinds, "--fork", "--kill-child", "sh", "-c", _MACHINE, "sh", name]
    outer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert outer.stdout is not None
    inner: list[int] = []
    try:
        assert outer.stdout.readline() == "made\n"
        inner = [pid for pid, line in below(outer.pid).items() if line.startswith("sh")]
        yield Laptop(inner[0], directory / name)
    finally:
        for pid in inner:  # the first process of the namespace: all others end with it
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        outer.wait(timeout=60.0)
        outer.stdout.close()


@contextmanager
def two_laptops(directory: Path) -> Iterator[dict[str, Laptop]]:
    """`laptop-1` at 10.0.0.1 and `laptop-2` at 10.0.0.2, in one network; needs root."""
    with _laptop("laptop-1", directory) as one, _laptop("laptop-2", directory) as two:
        cable = ["ip", "link", "add", "eth0", "netns", str(one.pid), "type", "veth"]
        subprocess.run([*cable, "peer", "name", "eth0", "netns", str(two.pid)], check=True)
        for address, laptop in (("10.0.0.1", one), ("10.0.0.2", two)):
            script = f"ip addr add {address}/24 dev eth0; ip link set eth0 up; ip route add default dev eth0"
            subprocess.run(laptop.command(script, {}), check=True)
        yield {"laptop-1": one, "laptop-2": two}
