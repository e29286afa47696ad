"""Listening sockets of processes, from /proc."""

from __future__ import annotations

import contextlib
import ipaddress
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from cactus_actors.placement.local.local_placement import PROGRAM

EDGE = "cactus_actors.router.edge.edge_child"
LISTENS = "0A"
"""The state of a listening socket in proc_net_tcp."""


def listening(pids: Iterable[int]) -> Counter[tuple[str, str]]:
    """The number of open TCP ports per kind of process, by its name and the address; `*` is every address."""
    addresses = _addresses()
    found: Counter[tuple[str, str]] = Counter()
    for pid in pids:
        with contextlib.suppress(OSError):
            name = _name((Path("/proc") / str(pid) / "cmdline").read_bytes())
            inodes = {_inode(link) for link in (Path("/proc") / str(pid) / "fd").iterdir()}
            found.update((name, addresses[inode]) for inode in inodes if inode in addresses)
    return found


def _addresses() -> dict[str, str]:
    addresses: dict[str, str] = {}
    for table in ("tcp", "tcp6"):
        for line in (Path("/proc/net") / table).read_text().splitlines()[1:]:
            row = line.split()
            if row[3] == LISTENS:
                addresses[row[9]] = _readable(row[1].partition(":")[0])
    return addresses


def _readable(written: str) -> str:
    """An address from its words of 32 bits, each in the machine's own order (little-endian, where Ray runs)."""
    words = [bytes.fromhex(written[place : place + 8])[::-1] for place in range(0, len(written), 8)]
    address = ipaddress.ip_address(b"".join(words))
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return "*" if address.is_unspecified else str(address)


def _inode(link: Path) -> str:
    try:
        return str(link.readlink()).removeprefix("socket:[").removesuffix("]")
    except OSError:
        return ""


def _name(cmdline: bytes) -> str:
    """The kind of an actor, `ray::` before it on Ray, or the module, the program, the script."""
    words = cmdline.decode(errors="replace").split("\0")
    if words[0].startswith("ray::"):
        return words[0].split()[0].partition(".")[0]
    if PROGRAM in words:
        return words[words.index(PROGRAM) + 1]
    if EDGE in words:
        return EDGE
    if "cactus_actors.cli.main" in words:
        return "cactus serve"
    scripts = [Path(word).name for word in words if word.endswith(".py")]
    return scripts[0] if scripts else Path(words[0]).name
