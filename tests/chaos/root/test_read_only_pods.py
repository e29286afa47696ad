"""The containers of deploy/kubernetes, run as their manifests say: by a user without rights, on a read-only root."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from cactus_actors.keys.key_store import KeyStore
from tests.support.deploy.manifests import PODS, Pod, of_kind
from tests.support.deploy.pod_sandbox import PodSandbox, link, pod_sandbox
from tests.support.processes.serve_command import below

KEY = "a-key-of-a-client"
HEAD_IP, NODE_IP = "10.9.0.1", "10.9.0.2"
OF_RAY = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0123456789abcdef" * 4}
SLOW = "ready_timeout_s = 900\n"
START_S = 900.0
STOP_S = 120.0
WRITE = """
import json, os, sys
written = []
for path in sys.argv[1:]:
    try:
        open(path + "/written", "w").close()
        os.unlink(path + "/written")
    except OSError:
        continue
    written.append(path)
print(json.dumps(written))
"""


class Container:
    """The main container of a pod, which is restarted when it ends; `log` has what it prints."""

    def __init__(self, pod: PodSandbox, command: Sequence[str], log: Path) -> None:
        self._pod = pod
        self._command = command
        self.log = log
        self._start()

    def restart_if_ended(self) -> None:
        if self._process.poll() is not None:
            self.kill()
            self._start()

    def stop(self) -> None:
        """End a service as Kubernetes does, and see that it drains."""
        os.kill(next(iter(below(self._process.pid))), signal.SIGTERM)
        assert self._process.wait(STOP_S) == 0, self.log.read_text()
        assert "stopped" in self.log.read_text().splitlines()

    def kill(self) -> None:
        """End all processes of the container."""
        for pid in {**below(self._process.pid), **below(self._pod.pid)}:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()

    def _start(self) -> None:
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(self._command, stdout=output, stderr=output)


@contextmanager
def kept_running(*containers: Container) -> Iterator[None]:
    try:
        yield
    finally:
        for container in containers:
            container.kill()


def wait_until_ready(sandbox: PodSandbox, *containers: Container) -> None:
    """Wait for the service in `sandbox`, and restart containers that end before, as the kubelet does."""
    deadline = time.monotonic() + START_S
    while sandbox.ask("/readyz")[0] != 200:
        assert time.monotonic() < deadline, [container.log.read_text() for container in containers]
        for container in containers:
            container.restart_if_ended()
        time.sleep(2.0)


@pytest.fixture
def sandbox(need: Callable[[str], None]) -> Iterator[PodSandbox]:
    for tool in ("unshare", "nsenter", "setpriv", "ip"):
        need(tool)
    with pod_sandbox() as sandbox:
        yield sandbox


@pytest.fixture
def node(sandbox: PodSandbox) -> Iterator[PodSandbox]:
    """A second pod, which the first one reaches at NODE_IP."""
    with pod_sandbox() as node:
        link({HEAD_IP: sandbox, NODE_IP: node})
        yield node


@pytest.fixture
def keys(tmp_path: Path) -> dict[str, Path]:
    """The content of the Secret, which `cactus keys new` makes."""
    store = KeyStore(tmp_path / "keys")
    worker = store.add("workers", "worker", path=tmp_path / "worker.key")
    return {"server.key": store.directory / "server.key", "known.json": store.known_path, "worker.key": worker}


def ray_start(pod: Pod, *more: str) -> str:
    """The command that the operator makes of a group's `rayStartParams`."""
    options = {**pod.ray_start, "dashboard-agent-listen-port": "52365"}
    words = [f"--{name}" if value == "true" else f"--{name}={value}" for name, value in options.items()]
    return " ".join(["ray start", *more, *words, "--block"])


def ask_completion(sandbox: PodSandbox) -> int:
    """Ask for four tokens with the API key; returns how many came."""
    body = {"prompt": "Hi", "max_tokens": 4}
    status, text = sandbox.ask("/v1/completions", body, Authorization=f"Bearer {KEY}")
    assert status == 200, text
    num_tokens: int = json.loads(text)["usage"]["completion_tokens"]
    return num_tokens


def test_the_pod_serves_on_a_read_only_root_and_leaves_its_state_on_the_volume(
    sandbox: PodSandbox, tmp_path: Path
) -> None:
    [pod] = [pod for pod in PODS if pod.file == "one-pod.yaml"]
    [config] = of_kind(pod.file, "ConfigMap")
    sandbox.prepare(pod, config["data"]["cactus.toml"] + SLOW, {})
    places = ["/", "/app", "/venv", "/usr/bin", "/etc/cactus", "/tmp", "/var/lib/cactus"]
    assert json.loads(sandbox.run(["/venv/bin/python", "-c", WRITE, *places])) == ["/tmp", "/var/lib/cactus"]

    service = Container(sandbox, sandbox.command_of(pod.main, CACTUS_API_KEYS=KEY), tmp_path / "log")
    with kept_running(service):
        wait_until_ready(sandbox, service)
        assert sandbox.ask("/healthz")[0] == 200
        assert sandbox.ask("/v1/completions", {"prompt": "Hi"})[0] == 401
        assert ask_completion(sandbox) == 4
        assert "cactus_up 1.0" in sandbox.ask("/metrics", None, Authorization=f"Bearer {KEY}")[1]
        service.stop()
    kept = sandbox.run(["find", "/var/lib/cactus", "-name", "*.nbi", "-o", "-name", "journal"])
    assert ".nbi" in kept
    assert "journal" in kept
    assert sandbox.run(["find", "/var/lib/cactus", "-perm", "/077", "-not", "-type", "l"]) == ""


def test_pods_of_a_ray_cluster_serve_on_read_only_roots(
    sandbox: PodSandbox, node: PodSandbox, keys: dict[str, Path], tmp_path: Path
) -> None:
    head_pod, node_pod = (pod for pod in PODS if pod.file == "ray-cluster.yaml")
    sandbox.prepare(head_pod, SLOW, keys)
    node.prepare(node_pod, "", {"worker.key": keys["worker.key"]})
    of_head = {**OF_RAY, "KUBERAY_GEN_RAY_START_CMD": ray_start(head_pod, "--head"), "RAY_ADDRESS": "127.0.0.1:6379"}
    of_node = {**OF_RAY, "KUBERAY_GEN_RAY_START_CMD": ray_start(node_pod, f"--address={HEAD_IP}:6379")}
    head_command = sandbox.command_of(head_pod.main, POD_IP=HEAD_IP, CACTUS_API_KEYS=KEY, **of_head)
    head = Container(sandbox, head_command, tmp_path / "head")
    raylet = Container(node, node.command_of(node_pod.main, **of_node), tmp_path / "node")
    with kept_running(head, raylet):
        wait_until_ready(sandbox, head, raylet)
        assert sandbox.listens(NODE_IP, 6380)
        assert ask_completion(sandbox) == 4
        head.stop()
