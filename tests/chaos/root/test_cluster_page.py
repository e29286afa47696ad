"""The commands of docs/guide/cluster.md, on two machines that share nothing but a cable."""

from __future__ import annotations

import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.processes.laptops import Laptop, two_laptops
from tests.support.text.documents import page

BLOCKS = re.findall(r"^```sh (laptop-[12])( serve)?\n(.*?)^```", page("guide/cluster.md"), re.M | re.S)
STARTED = "ray start"
START_ATTEMPTS = 5
"""Ray gives up a start after 30 s, too few for a starved machine."""
TIMEOUT_S = 900.0


class Terminal:
    """A shell of one laptop, block by block: variables that a block exports hold for the next ones."""

    def __init__(self, laptop: Laptop, peer: Laptop) -> None:
        self._laptop = laptop
        self._peer = peer
        self._exports: list[str] = []
        self.service: subprocess.Popen[bytes] | None = None

    def run(self, block: str) -> str:
        """Run a block; returns its output."""
        script = "\n".join([*self._exports, re.sub(r"^scp (.*) \S+:$", rf"cp \1 {self._peer.home}", block, flags=re.M)])
        for attempt in range(START_ATTEMPTS):
            done = subprocess.run(
                self._laptop.command(script, {}), capture_output=True, text=True, timeout=TIMEOUT_S, check=False
            )
            if done.returncode and STARTED in block and attempt + 1 < START_ATTEMPTS:
                subprocess.run(self._laptop.command("ray stop --force", {}), capture_output=True, check=True)
                continue
            assert done.returncode == 0, done.stdout + done.stderr
            break
        self._exports += re.findall(r"^export .*$", block, re.M)
        return done.stdout

    def serve(self, block: str) -> None:
        """Start the service, and wait until it is ready."""
        log = self._laptop.home / "log"
        script = "\n".join([*self._exports, f"exec {block.strip()} --ready-timeout {TIMEOUT_S:.0f}"])
        with log.open("wb") as output:
            self.service = subprocess.Popen(self._laptop.command(script, {}), stdout=output, stderr=output)
        deadline = time.monotonic() + TIMEOUT_S
        while "ready" not in log.read_text():
            assert self.service.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.5)

    def end(self) -> None:
        """End the service; what it has started ends with its laptop."""
        if self.service is not None:
            self.service.kill()
            self.service.wait()


@pytest.fixture
def terminals(need: Callable[[str], None]) -> Iterator[dict[str, Terminal]]:
    for tool in ("unshare", "nsenter", "ip", "openssl", "hostname"):
        need(tool)
    with (
        tempfile.TemporaryDirectory(prefix="ca-", ignore_cleanup_errors=True) as directory,
        two_laptops(Path(directory)) as laptops,
    ):
        one, two = laptops.values()
        terminals = {"laptop-1": Terminal(one, two), "laptop-2": Terminal(two, one)}
        yield terminals
        for terminal in terminals.values():
            terminal.end()


def test_the_commands_of_the_page_serve_scale_drain_and_survive(terminals: dict[str, Terminal]) -> None:
    outputs: list[str] = []
    for name, serves, block in BLOCKS:
        if serves:
            terminals[name].serve(block)
        else:
            outputs.append(terminals[name].run(block))
        if "laptop-2" in block and "--wait" in block and "drain" in block:
            assert "laptop-2" not in workers_of(terminals["laptop-1"])
    answers = [output.split("\n")[0] for output in outputs if "Paris" in output]
    assert len(answers) == 2
    assert answers[0] == answers[1]
    assert "laptop-2" in workers_of_page(outputs), "a worker ran on the second laptop"


def workers_of(terminal: Terminal) -> str:
    """The rows of the workers in `cactus status`."""
    return "\n".join(line for line in terminal.run("cactus status").splitlines() if line.startswith("worker-"))


def workers_of_page(outputs: list[str]) -> str:
    return "\n".join(line for output in outputs for line in output.splitlines() if line.startswith("worker-"))
