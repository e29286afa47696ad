"""The cores of this machine, as Linux describes them in /sys."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

SYSTEM = Path("/sys/devices/system")
CONTAINER_FILES = (Path("/.dockerenv"), Path("/run/.containerenv"))
CONTAINER_VARIABLES = ("container", "KUBERNETES_SERVICE_HOST")


@dataclass(frozen=True)
class Core:
    """A core: its NUMA node, and its CPUs, of which simultaneous multithreading gives it several."""

    node: int
    cpus: frozenset[int]


def cores_of(cpus: Collection[int], system: Path = SYSTEM) -> list[Core]:
    """The cores that have one of `cpus`, with no other CPUs, ordered by NUMA node and number.

    Where Linux tells nothing, each CPU is a core of node 0.
    """
    allowed = frozenset(cpus)
    nodes = _nodes(system)
    cores = set()
    for cpu in allowed:
        siblings = {cpu, *_cpu_list(system / f"cpu/cpu{cpu}/topology/thread_siblings_list")}
        cores.add(Core(nodes.get(cpu, 0), allowed & siblings))
    return sorted(cores, key=lambda core: (core.node, min(core.cpus)))


def bound_node(cpus: Collection[int] | None = None, system: Path = SYSTEM) -> int | None:
    """The NUMA node of `cpus`, by default those of this process; None on a machine with one, or if they span several.

    Linux places the memory that a process fills on the node where it runs.
    """
    nodes = _nodes(system)
    bound = {nodes.get(cpu, 0) for cpu in (os.sched_getaffinity(0) if cpus is None else cpus)}
    return bound.pop() if len(bound) == 1 < len(set(nodes.values())) else None


def pin_threads(cpus: Collection[int]) -> None:
    """Run all threads of this process, and those that they start, on `cpus` alone."""
    for thread in Path("/proc/self/task").iterdir():
        with contextlib.suppress(ProcessLookupError):  # it has ended
            os.sched_setaffinity(int(thread.name), cpus)


def may_share_cpus(
    allowed: Collection[int],
    system: Path = SYSTEM,
    environment: Mapping[str, str] = os.environ,
    container_files: Collection[Path] = CONTAINER_FILES,
) -> bool:
    """True in a container that may use all CPUs of its machine: so may its neighbours, which it cannot see."""
    is_container = any(file.exists() for file in container_files) or any(map(environment.get, CONTAINER_VARIABLES))
    return is_container and set(allowed) >= set(_cpu_list(system / "cpu/online"))


def _nodes(system: Path) -> dict[int, int]:
    """The NUMA node of each CPU."""
    directories = sorted(system.glob("node/node[0-9]*"))
    return {cpu: int(it.name.removeprefix("node")) for it in directories for cpu in _cpu_list(it / "cpulist")}


def _cpu_list(path: Path) -> list[int]:
    """The numbers of a list such as `0-3,8`; empty if there is no such file."""
    with contextlib.suppress(OSError):
        ranges = [part.partition("-") for part in path.read_text().strip().split(",") if part]
        return [cpu for first, _, last in ranges for cpu in range(int(first), int(last or first) + 1)]
    return []
