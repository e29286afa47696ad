"""Commands that need root, and a network link between two namespaces that can go down or slow down."""

from __future__ import annotations

import os
import subprocess


def run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)


class Link:
    """A pair of virtual Ethernet devices, one in this network namespace, one in another."""

    def __init__(self) -> None:
        self.name = f"cactus{os.getpid() % 10_000}"
        self.near, self.far = f"{self.name}a", f"{self.name}b"
        self.host, self.guest = "198.51.100.1", "198.51.100.2"  # TEST-NET-2 (RFC 5737)
        run("ip", "netns", "add", self.name)
        run("ip", "link", "add", self.near, "type", "veth", "peer", "name", self.far, "netns", self.name)
        run("ip", "addr", "add", f"{self.host}/30", "dev", self.near)
        run("ip", "link", "set", self.near, "up")
        run("ip", "-n", self.name, "addr", "add", f"{self.guest}/30", "dev", self.far)
        run("ip", "-n", self.name, "link", "set", self.far, "up")
        run("ip", "-n", self.name, "link", "set", "lo", "up")

    def set(self, state: str) -> None:
        run("ip", "link", "set", self.near, state)

    def deafen_router(self) -> None:
        """Drop the worker's frames, and only these: they go to an address that does not exist."""
        nobody = ("lladdr", "02:00:00:00:00:01", "dev", self.far, "nud", "permanent")
        run("ip", "-n", self.name, "neigh", "replace", self.host, *nobody)

    def hear_again(self) -> None:
        run("ip", "-n", self.name, "neigh", "del", self.host, "dev", self.far)

    def slow_down(self, rate: str) -> None:
        token_bucket = ("tbf", "rate", rate, "burst", "16kb", "latency", "400ms")
        run("tc", "qdisc", "add", "dev", self.near, "root", *token_bucket)

    def remove(self) -> None:
        run("ip", "link", "delete", self.near)
        run("ip", "netns", "delete", self.name)
