"""A pod without a container runtime: namespaces, a read-only root of its own, and a user without rights."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.support.deploy.manifests import Manifest, Pod
from tests.support.paths import ROOT
from tests.support.processes.serve_command import below

USER = "1000"
HOME = "/var/lib/cactus"
_ENVIRONMENT = {
    "HOME": HOME,
    "NUMBA_CACHE_DIR": f"{HOME}/.cache/numba",
    "PATH": "/programs:/venv/bin:/usr/local/bin:/usr/bin:/bin",
    "PYTHONPATH": "/app",
    "PYTHONDONTWRITEBYTECODE": "1",
}
# The image is this machine's root file system; a volume is open to all, as those of Kubernetes are.
_IMAGE = """
set -e
ip link set lo up
mount -t tmpfs tmpfs /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work overlay /mnt/root
cd /mnt/root
mkdir -p app venv programs volume keys etc/cactus var/lib/cactus/.cache/numba
printf '#!/bin/sh\\nexec /venv/bin/python -m cactus_actors.cli.main "$@"\\n' > programs/cactus
printf '#!/bin/sh\\nexec /venv/bin/python -m ray.scripts.scripts "$@"\\n' > programs/ray
printf '#!/bin/sh\\n[ "$1" = -- ] && shift\\nexec "$@"\\n' > programs/tini
chmod 755 app venv programs programs/* volume keys etc/cactus
chown -R 1000:1000 var/lib/cactus
above=".$3"
while [ "$above" != . ]; do chmod o+x "$above"; above=$(dirname "$above"); done
mount --bind "$1" app
mount --bind "$2" venv
mount --rbind /dev dev
mount -t proc proc proc
mount -t tmpfs -o mode=0777 tmpfs tmp
mount -t tmpfs -o mode=0777 tmpfs dev/shm
mount -t tmpfs -o mode=2777,gid=1000 tmpfs volume
mount -o remount,ro,bind app
mount -o remount,ro,bind venv
echo made
exec sleep infinity
"""


class PodSandbox:
    """Namespaces of a pod, whose first process is `pid`, seen from outside."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._enter = ["nsenter", f"--target={pid}", "--mount", "--net", "--pid"]

    def as_root(self, script: str, *arguments: str) -> str:
        """Run a shell script in /mnt/root as root, such as the kubelet does."""
        command = [*self._enter, "sh", "-ec", f"cd /mnt/root\n{script}", "sh", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def command(self, words: Sequence[str], environment: Mapping[str, str]) -> list[str]:
        """The command line of a program in a container of the pod, as its user."""
        drop = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--no-new-privs"]
        drop += ["--bounding-set=-all", "--inh-caps=-all"]
        variables = [f"{name}={value}" for name, value in {**_ENVIRONMENT, **environment}.items()]
        return [*self._enter, "chroot", "/mnt/root", *drop, "env", "-i", *variables, *words]

    def run(self, words: Sequence[str], **environment: str) -> str:
        """Run a program in the container; returns its output."""
        done = subprocess.run(self.command(words, environment), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def prepare(self, pod: Pod, config: str, keys: Mapping[str, Path]) -> None:
        """Run the init containers, mount what the main container mounts, and make the root read-only."""
        self.as_root('printf %s "$1" > etc/cactus/cactus.toml', config)
        for name, path in keys.items():
            self.as_root('install -m 440 -g 1000 "$1" "keys/$2"', str(path), name)
        self.run(["/venv/bin/python", "-c", _COPY_KERNELS])
        self.as_root("mount -o remount,ro /mnt/root")
        for container in pod.spec["initContainers"]:
            self.run([*container["command"], *container["args"]])
        mounts = {mount["mountPath"]: mount for mount in pod.main["volumeMounts"]}
        self.as_root(f"mount --bind volume/{mounts[HOME]['subPath']} .{HOME}; umount volume")

    def command_of(self, container: Manifest, **environment: str) -> list[str]:
        """The command line of a container of a manifest, with the variables that the manifest gives as texts."""
        given = {it["name"]: it["value"] for it in container.get("env", []) if "value" in it} | environment
        words = [*container.get("command", ["tini", "--", "cactus"]), *container["args"]]
        words = [word.replace("$(POD_IP)", environment.get("POD_IP", "")) for word in words]
        return self.command(words, given)

    def listens(self, address: str, port: int) -> bool:
        """True if a connection to another pod succeeds: the probe `tcpSocket`."""
        words = ["/venv/bin/python", "-c", _CONNECT, address, str(port)]
        return self.run(words) == "True\n"

    def ask(self, path: str, body: object = None, **headers: str) -> tuple[int, str]:
        """Status and body of an answer of the pod's HTTP port; status 0 if nothing listens."""
        words = json.dumps([path, body, headers])
        told = self.run(["/venv/bin/python", "-c", _ASK, words])
        status, text = json.loads(told)
        return status, text


# Kernels that this repository has compiled, as those of an image: numba keeps them by the paths of their sources.
_COPY_KERNELS = """
import hashlib, pathlib, shutil
for compiled in pathlib.Path("/app/workers").glob("*/__pycache__/*.nb[ci]"):
    sources = f"/app/cactus_actors/workers/{compiled.parts[3]}"
    name = f"{compiled.parts[3]}_{hashlib.sha1(sources.encode()).hexdigest()}"
    target = pathlib.Path("/var/lib/cactus/.cache/numba", name)
    target.mkdir(mode=0o700, exist_ok=True)
    shutil.copy(compiled, target)
"""

_CONNECT = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=10).close()
    print(True)
except OSError:
    print(False)
"""

_ASK = """
import json, sys, urllib.error, urllib.request
path, body, headers = json.loads(sys.argv[1])
data = None if body is None else json.dumps(body).encode()
request = urllib.request.Request("http://127.0.0.1:8080" + path, data, {"Content-Type": "application/json", **headers})
try:
    with urllib.request.urlopen(request, timeout=300) as answer:
        print(json.dumps([answer.status, answer.read().decode()]))
except urllib.error.HTTPError as error:
    print(json.dumps([error.code, error.read().decode()]))
except OSError:
    print(json.dumps([0, ""]))
"""


@contextmanager
def pod_sandbox() -> Iterator[PodSandbox]:
    """Namespaces that end with everything in them; needs root."""
    command = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "sh", "-c", _IMAGE, "sh"]
    outer = subprocess.Popen([*command, str(ROOT), sys.prefix, sys.base_prefix], stdout=subprocess.PIPE, text=True)
    assert outer.stdout is not None
    inner: list[int] = []
    try:
        assert outer.stdout.readline() == "made\n"
        inner = [pid for pid, line in below(outer.pid).items() if line.startswith("sleep")]
        [pid] = inner
        yield PodSandbox(pid)
    finally:
        for pid in inner:  # the first process of the namespace: all others end with it
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        outer.wait(timeout=60.0)
        outer.stdout.close()


def link(pods: Mapping[str, PodSandbox]) -> None:
    """Connect two pods, each with its address, by a cable; the cable leads to all other addresses, too."""
    (one, first), (other, second) = pods.items()
    cable = ["ip", "link", "add", "eth0", "netns", str(first.pid), "type", "veth"]
    subprocess.run([*cable, "peer", "name", "eth0", "netns", str(second.pid)], check=True)
    for address, pod in ((one, first), (other, second)):
        pod.as_root('ip addr add "$1/24" dev eth0; ip link set eth0 up; ip route add default dev eth0', address)
