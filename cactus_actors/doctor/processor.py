"""The processor: its cores, and the instruction set of the kernels."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from pathlib import Path

from cactus_actors.config import ServeConfig
from cactus_actors.config_scaling import worker_range
from cactus_actors.doctor.finding import Finding
from cactus_actors.doctor.limits import cpu_quota
from cactus_actors.process.cpu_cores import cores_of
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.service.model_configs import model_configs

DESCRIPTION = Path("/proc/cpuinfo")


def processor(config: ServeConfig, quota: float | None = None) -> Iterator[Finding]:
    """The instruction set, and the cores beside the threads that the workers will have."""
    yield _instruction_set()
    cpus = os.sched_getaffinity(0)
    cores = cores_of(cpus)
    quota = cpu_quota() if quota is None else quota
    usable = len(cpus) if quota is None else min(len(cpus), quota)
    threads = sum(worker_range(one.workers).num_at_start * one.threads for _, _, one in model_configs(config))
    nodes = len({core.node for core in cores})
    text = f"{len(cpus)} CPUs on {len(cores)} cores" + (f" of {nodes} NUMA nodes" if nodes > 1 else "")
    if quota is not None:
        text += f", limited to the time of {quota:g}"
    yield Finding.judged(
        "cores",
        f"{text}; workers have {threads} threads",
        (
            threads > usable,
            "note",
            f"threads wait for each other: take fewer --workers or --threads, {max(1, int(usable))} in all",
        ),
        cpus=len(cpus),
        cores=len(cores),
        worker_threads=threads,
    )


def _instruction_set() -> Finding:
    from cactus_actors.workers.kernels.instruction_sets import (
        ENVIRONMENT_VARIABLE,
        PORTABLE,
        choose_instruction_set,
        usable_instruction_sets,
    )

    best = usable_instruction_sets()[0]
    try:
        chosen = choose_instruction_set()
    except ConfigurationInvalid as error:
        advice = f"unset {ENVIRONMENT_VARIABLE}"
        return Finding(subject="processor", grade="bad", text=error.message, advice=advice)
    return Finding.judged(
        "processor",
        f"{_name()}, kernels for {chosen.name}",
        (chosen != best, "note", f"{ENVIRONMENT_VARIABLE} is set: without it, {best.name} is used"),
        (
            chosen == PORTABLE and platform.machine() == "x86_64",
            "note",
            "the processor, or the virtual machine, has no AVX2: kernels are several times slower than with it",
        ),
    )


def _name() -> str:
    """The name of the processor, or of its architecture where Linux has none."""
    for line in DESCRIPTION.read_text().splitlines() if DESCRIPTION.exists() else ():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return value.strip()
    return platform.machine()
