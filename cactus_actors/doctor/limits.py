"""The limits of this process and of the control groups (cgroups) that it is in."""

from __future__ import annotations

import contextlib
import ctypes
import resource
from collections.abc import Iterator
from pathlib import Path

from cactus_actors.doctor.finding import Finding

CGROUPS = Path("/sys/fs/cgroup")
OWN_GROUP = Path("/proc/self/cgroup")
MEMORY = Path("/proc/meminfo")
LOW_FILES, ENOUGH_FILES = 256, 4096
_TIMEX_BYTES = 256
_NOT_SYNCHRONISED = 5  # TIME_ERROR of adjtimex(2)


def cpu_quota(groups: Path = CGROUPS, own: Path = OWN_GROUP) -> float | None:
    """The CPUs that the control groups allow in the mean; None without a limit."""
    quotas = []
    for text in _contents("cpu.max", groups, own):
        quota, _, period = text.partition(" ")
        if quota != "max":
            quotas.append(int(quota) / int(period))
    return min(quotas, default=None)


def memory_limit(groups: Path = CGROUPS, own: Path = OWN_GROUP) -> int | None:
    """The bytes that the control groups allow; None without a limit."""
    limits = [int(text) for text in _contents("memory.max", groups, own) if text != "max"]
    return min(limits, default=None)


def free_memory(groups: Path = CGROUPS, own: Path = OWN_GROUP, memory: Path = MEMORY) -> int:
    """The bytes that processes can still take, of the machine and of the control groups."""
    lines = (line.split() for line in memory.read_text().splitlines())
    machine = {words[0].rstrip(":"): int(words[1]) * 1024 for words in lines}
    left = [machine["MemAvailable"]]
    limits = _contents("memory.max", groups, own)
    for limit, used in zip(limits, _contents("memory.current", groups, own), strict=False):
        if limit != "max":
            left.append(int(limit) - int(used))
    return max(0, min(left))


def descriptors() -> Finding:
    """Open files: each connection of a client is one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    shown = "unlimited" if soft == resource.RLIM_INFINITY else str(soft)
    is_low = 0 <= soft < LOW_FILES
    return Finding.judged(
        "file descriptors",
        f"a process may have {shown} open files",
        (is_low, "bad", f"run `ulimit -n {ENOUGH_FILES}` before the service; systemd has LimitNOFILE"),
        (
            0 <= soft < ENOUGH_FILES,
            "note",
            f"with more than about {soft // 2} connections at once, run `ulimit -n {hard}` before the service",
        ),
        soft_limit=float(soft),
    )


def clock() -> Finding:
    """The wall clock, which other machines compare with theirs: keys of the cloud, logs, traces."""
    is_known, is_synchronised = _synchronised()
    return Finding.judged(
        "clock",
        "it is synchronised" if is_synchronised else "nobody synchronises it" if is_known else "it is not known",
        (
            is_known and not is_synchronised,
            "note",
            "run chrony or systemd-timesyncd on the machine, so that logs and certificates agree with other machines",
        ),
    )


def _synchronised() -> tuple[bool, bool]:
    """True if the kernel tells, and what it tells."""
    with contextlib.suppress(OSError, AttributeError):
        state = ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(_TIMEX_BYTES))
        return state >= 0, 0 <= state < _NOT_SYNCHRONISED
    return False, False


def _contents(name: str, groups: Path, own: Path) -> Iterator[str]:
    """The contents of a file of the own control group and of those that it is in."""
    with contextlib.suppress(OSError):
        path = own.read_text().rpartition("::")[2].strip().lstrip("/")
        folder = groups / path
        for group in (folder, *folder.parents):
            with contextlib.suppress(OSError):
                yield (group / name).read_text().strip()
            if group == groups:
                return
