"""All that is looked at, in the order in which it matters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cactus_actors.config import ServeConfig
from cactus_actors.doctor.cluster import cluster
from cactus_actors.doctor.endpoints import ports, settings
from cactus_actors.doctor.finding import Finding
from cactus_actors.doctor.limits import clock, descriptors
from cactus_actors.doctor.memory import memory
from cactus_actors.doctor.processor import processor
from cactus_actors.doctor.self_test import self_test
from cactus_actors.doctor.storage import storage
from cactus_actors.doctor.versions import versions


def examine(config: ServeConfig, environment: Mapping[str, str], *, measures: bool = True) -> Iterator[Finding]:
    """Examine this machine for a service; what the service needs is neither started nor changed.

    Without `measures` the self-test is left out. If the settings are refused, what depends on them is left out.
    """
    yield versions()
    accepted = settings(config, environment)
    yield accepted
    if accepted.grade == "bad":
        config = ServeConfig(state_dir=config.state_dir)
    else:
        yield ports(config)
        yield memory(config)
        yield cluster(config)
    yield from processor(config)
    yield from storage(config)
    yield descriptors()
    yield clock()
    if measures:
        yield from self_test()
