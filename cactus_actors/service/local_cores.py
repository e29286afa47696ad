"""The workers that fit the cores of this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator

import msgspec

from cactus_actors.config_scaling import worker_range
from cactus_actors.service.model_configs import NamedConfig


def num_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0))


def within_cores(models: Iterable[NamedConfig], cores: int, announce: Callable[[str], None]) -> Iterator[NamedConfig]:
    """The models with ranges of workers whose threads have a core each, or the least of the range."""
    for named in models:
        size, threads = worker_range(named.config.workers), named.config.threads
        fitting = size if size.is_fixed else size.within(max(1, cores // threads))
        if fitting == size:
            yield named
            continue
        announce(
            f"{named.name or 'workers'}: at most {fitting.high} of {size.high}, so that each of their threads has a "
            f"core (cores: {cores})"
        )
        yield named._replace(config=msgspec.structs.replace(named.config, workers=str(fitting)))
