"""Kinds, memory and processor time of the processes of a service, from /proc (proc(5))."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

KINDS = (
    "RouterActor",
    "GatewayActor",
    "HandoffActor",
    "WorkerActor",
    "cactus_actors.router.preparation.preparer_child",
    "cactus_actors.router.edge.edge_child",
)
"""Words of a command line that identify the kind of a process."""
_PROCESSES = Path("/proc")


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of one process; a page shared by n counts 1/n in `proportional`, not in `private`."""

    resident: int
    proportional: int
    private: int


def memory_of(pid: int) -> Memory:
    """The memory of a process."""
    lines = (_PROCESSES / str(pid) / "smaps_rollup").read_text().splitlines()[1:]
    kib = {name: int(rest.split()[0]) for name, rest in (line.split(":", 1) for line in lines)}
    return Memory(
        resident=1024 * kib["Rss"],
        proportional=1024 * kib["Pss"],
        private=1024 * (kib["Private_Clean"] + kib["Private_Dirty"]),
    )


def cpu_seconds(pid: int) -> float:
    """Processor time of all threads of a process; 0 if it has ended."""
    try:
        fields = (_PROCESSES / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def tree(root: int) -> dict[int, str]:
    """The command lines of `root` and of all its descendants that have not ended, by process id."""
    parents: dict[int, int] = {}
    commands: dict[int, str] = {}
    for folder in _PROCESSES.iterdir():
        if folder.name.isdigit():
            try:
                state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
                command = (folder / "cmdline").read_text().replace("\0", " ")
            except OSError:
                continue  # it has ended in the meantime
            if state != "Z":
                parents[int(folder.name)], commands[int(folder.name)] = int(parent), command
    found, pending = {}, [root]
    while pending:
        pid = pending.pop()
        if pid in commands:
            found[pid] = commands[pid]
        pending += [child for child, parent in parents.items() if parent == pid]
    return found


def kind_of(command: str) -> str:
    """The kind of a process of a service: the class of an actor, a module, or the program's name."""
    for kind in KINDS:
        if kind in command:
            return kind
    return "cactus serve" if "cactus_actors.cli" in command else Path(command.split(" ")[0]).name


def processes_of_kind(kind: str, root: int) -> list[int]:
    """The processes of a kind among the descendants of `root`."""
    return [pid for pid, command in tree(root).items() if kind_of(command) == kind]
