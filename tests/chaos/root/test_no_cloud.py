"""Jobs that may not go to the cloud: the service runs where every outgoing packet is counted and dropped."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cactus_actors.keys.key_store import KeyStore
from cactus_actors.protocol.key_grants import KeyGrants
from tests.support.processes.network_link import run
from tests.support.processes.separate_actors import Processes

HANDOFF = """
import sys
from cactus_actors.config import HandoffSettings
from cactus_actors.handoff.actor import HandoffActor
name, endpoint, key_file = sys.argv[1:]
HandoffActor(HandoffSettings(
    worker_id=name, base_url="http://203.0.113.9:8080/v1", key_file=key_file, require_key=False,
    connect_timeout_s=0.5, max_retries=0)).run(endpoint)
"""

CLIENT = """
import json, sys, time
from cactus_actors.client import Client
jobs, stream, key_file, options = sys.argv[1:]
with Client(jobs, stream, key_file=key_file, timeout=60.0) as client:
    while not any(worker.kind == "cloud" for worker in client.status().workers):
        time.sleep(0.1)
    prompts = [("What is the capital of France?", number) for number in range(4)]
    results = [client.complete(text, seed=seed, **json.loads(options)) for text, seed in prompts]
told = [(it.handoff.status, it.handoff.reason, len(it.token_ids)) for it in results]
print(json.dumps(told))
"""

UNSURE: dict[str, Any] = {
    "max_tokens": 20,
    "ignore_eos": True,
    "temperature": 1.0,
    "cloud_handoff_threshold": 1.0,
}


class Island:
    """A network namespace whose only link ends at a machine that does not exist."""

    def __init__(self) -> None:
        self.name = f"island{os.getpid() % 10_000}"
        self.prefix = ["ip", "netns", "exec", self.name]
        run("ip", "netns", "add", self.name)
        # Otherwise the kernel itself looks for routers.
        for which in ("all", "default"):
            run(*self.prefix, "sh", "-c", f"echo 1 > /proc/sys/net/ipv6/conf/{which}/disable_ipv6")
        self._ip("link", "set", "lo", "up")
        self._ip("link", "add", "out", "type", "veth", "peer", "name", "nowhere")
        for end in ("nowhere", "out"):
            self._ip("link", "set", end, "up")
        self._ip("addr", "add", "192.0.2.1/30", "dev", "out")  # TEST-NET-1 (RFC 5737)
        self._ip("neigh", "add", "192.0.2.2", "lladdr", "02:00:00:00:00:01", "dev", "out", "nud", "permanent")
        self._ip("route", "add", "default", "via", "192.0.2.2")

    @property
    def num_lost(self) -> int:
        """The number of packets that left, from any sender to any destination."""
        command = ["ip", "-n", self.name, "-s", "-j", "link", "show", "out"]
        [link] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        return int(link["stats64"]["tx"]["packets"])

    def remove(self) -> None:
        run("ip", "netns", "delete", self.name)

    def _ip(self, *words: str) -> None:
        run("ip", "-n", self.name, *words)


@pytest.fixture
def island(need: Callable[[str], None]) -> Iterator[Island]:
    need("ip")
    island = Island()
    yield island
    island.remove()


@pytest.fixture
def service(island: Island, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Processes]:
    """A router, a worker and a handoff actor, all in this namespace."""
    monkeypatch.setenv("CACTUS_HOME", str(tmp_path))
    for variable in ("CACTUS_CLOUD_KEY", "CACTUS_DISABLE_CLOUD_HANDOFF"):
        monkeypatch.delenv(variable, raising=False)
    prefix = island.prefix
    # At any address other than 127.0.0.1 they require keys.
    service = Processes(tmp_path, router_prefix=prefix, worker_prefix=prefix, worker_host="127.0.0.2")
    try:
        service.add_worker("cloud", program=HANDOFF)
        yield service
    finally:
        service.stop()


def asked(island: Island, service: Processes, key_file: str, **options: Any) -> list[tuple[str, str, int]]:
    """The handoff statuses and reasons of the jobs of this key, and the number of their local tokens."""
    command = [*island.prefix, sys.executable, "-c", CLIENT, service.jobs, service.stream, key_file]
    command.append(json.dumps(UNSURE | options))
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    return [(status, reason, length) for status, reason, length in json.loads(done.stdout)]


def test_without_permission_no_packet_goes_to_the_cloud(island: Island, service: Processes, tmp_path: Path) -> None:
    store = KeyStore(tmp_path / "keys")
    never = str(store.add("never", "client", grants=KeyGrants(allow_cloud=False)))
    for key_file, options, said in (
        (never, {"allow_cloud": True}, "the key does not allow the cloud"),
        (never, {}, "the key does not allow the cloud"),
        (service.client_key, {"allow_cloud": False}, "allow_cloud is false"),
    ):
        for status, reason, length in asked(island, service, key_file, **options):
            assert (status, reason) == ("suppressed", said)
            assert length == UNSURE["max_tokens"]
        assert island.num_lost == 0

    # The same jobs with permission: they would have gone to the cloud, and the counter would have shown it.
    answers = asked(island, service, service.client_key)
    assert {status for status, _, _ in answers} == {"failed"}
    assert all(length == UNSURE["max_tokens"] for _, _, length in answers)
    assert island.num_lost >= len(answers)
