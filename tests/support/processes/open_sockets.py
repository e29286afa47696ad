"""The open sockets of processes, and the process of a socket, from /proc."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def sockets_of(pids: set[int]) -> set[str]:
    """The inodes of the sockets that these processes have open."""
    found = set()
    for pid in pids:
        for link in Path(f"/proc/{pid}/fd").glob("*"):
            with suppress(OSError):
                target = str(link.readlink())
                if target.startswith("socket:["):
                    found.add(target[8:-1])
    return found


def socket_files_of(pids: set[int]) -> set[Path]:
    """The unix sockets in the file system that these processes have open."""
    inodes = sockets_of(pids)
    rows = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()[1:]]
    return {Path(row[7]) for row in rows if len(row) > 7 and row[6] in inodes and row[7].startswith("/")}


def parent_of(pid: int) -> int:
    """The parent of a process: proc_pid_stat(5)."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def pid_of_router(endpoint: str) -> int:
    """The router whose edge process listens at an endpoint of this machine: proc_pid_net(5)."""
    port = int(endpoint.rpartition(":")[2])
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    [inode] = [row[9] for row in rows if row[3] == "0A" and int(row[1].rpartition(":")[2], 16) == port]
    for actor in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if b"cactus_actors.router.edge.edge_child" in actor.read_bytes():
                opened = [str(link.readlink()) for link in (actor.parent / "fd").iterdir()]
                if f"socket:[{inode}]" in opened:
                    return parent_of(int(actor.parent.name))
    raise AssertionError(f"nobody listens at {endpoint}")
