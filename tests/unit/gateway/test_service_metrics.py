"""From a status to metrics: every counter is exported."""

from __future__ import annotations

from itertools import count
from typing import Any, get_args, get_origin, get_type_hints

import msgspec
import pytest

from cactus_actors.gateway.metrics.service_metrics import families_of
from cactus_actors.protocol.messages import Status
from cactus_actors.protocol.service_status import JobCounts, WorkerStatus
from cactus_actors.protocol.totals import Distribution, Held, Totals

NOT_NUMBERS = {"worker_id", "kind", "node", "pid", "threads", "kernels", "weights", "state", "unavailable"}


def filled(struct: type[msgspec.Struct], numbers: Any, **given: Any) -> Any:
    """A struct in which every number is different."""
    fields: dict[str, Any] = dict(given)
    for name, hint in get_type_hints(struct).items():
        if name in fields or name in NOT_NUMBERS or name in ("breaker", "spent", "audits"):
            continue
        if hint is Distribution:
            fields[name] = Distribution((1.0,), (0, 0), float(next(numbers)))
        elif get_origin(hint) is dict:
            names = get_args(get_args(hint)[0]) or ("some",)
            fields[name] = {each: next(numbers) for each in names}
        else:
            fields[name] = next(numbers)
    return struct(**fields)


def numbers_in(value: Any) -> set[float]:
    if isinstance(value, bool | str | list | None):
        return set()
    if isinstance(value, int | float):
        return {float(value)}
    if isinstance(value, dict):
        return set().union(*map(numbers_in, value.values()))
    if isinstance(value, Distribution):
        return {value.sum}
    return set().union(*(numbers_in(getattr(value, name)) for name in value.__struct_fields__))


def make_status(numbers: Any) -> Status:
    worker = filled(
        WorkerStatus,
        numbers,
        worker_id="w",
        kind="local",
        node="here",
        node_id="",
        pid=1,
        threads=1,
        kernels="",
        weights="",
        state="ready",
        unavailable=None,
        breaker=None,
        model="",
    )
    return Status(
        version="1",
        epoch=1,
        uptime_s=1.0,
        model="m",
        max_context=1,
        vocab_size=1,
        draining=False,
        desired_workers=1,
        jobs=filled(JobCounts, numbers),
        workers=[worker],
        refused={"unknown_key": next(numbers)},
        held=filled(Held, numbers),
        totals=filled(Totals, numbers),
    )


def test_every_number_that_the_router_counts_is_exported() -> None:
    status = make_status(count(1000, 7))
    [worker] = status.workers
    told = {sample.value for family in families_of(status) for sample in family.samples}
    held = msgspec.structs.replace(status.held, tenants=[])  # a label would reveal who they are
    expected = (numbers_in(status.totals), numbers_in(status.jobs), numbers_in(held))
    for part in expected:
        assert part <= told
    of_worker = numbers_in(msgspec.structs.replace(worker, pid=0, threads=0, ram_usage_mb=0.0)) - {0.0}
    assert of_worker <= told
    assert worker.ram_usage_mb * 2**20 in told
    assert float(status.refused["unknown_key"]) in told


def test_metric_families_are_unique() -> None:
    names = [family.name for family in families_of(make_status(count(1)))]
    assert len(names) == len(set(names))


def test_histogram_buckets_are_cumulative() -> None:
    status = make_status(count(1))
    assert status.totals is not None
    spread = Distribution((0.001, 1.0), (2, 3, 4), 12.5)
    totals = msgspec.structs.replace(status.totals, inter_token_seconds=spread)
    families = families_of(msgspec.structs.replace(status, totals=totals))
    [family] = [one for one in families if one.name == "cactus_inter_token_latency_seconds"]
    told = {(one.name.rpartition("_")[2], one.labels.get("le")): one.value for one in family.samples}
    assert told == {
        ("bucket", "0.001"): 2,
        ("bucket", "1.0"): 5,
        ("bucket", "+Inf"): 9,
        ("count", None): 9,
        ("sum", None): 12.5,
    }


def test_an_unreachable_router_leaves_only_cactus_up() -> None:
    [family] = families_of(None)
    [sample] = family.samples
    assert (sample.name, sample.value) == ("cactus_up", 0)


@pytest.mark.parametrize("num_blocks", [0, 8])
def test_a_worker_without_blocks_has_no_block_usage(num_blocks: int) -> None:
    status = make_status(count(1))
    worker = msgspec.structs.replace(status.workers[0], num_blocks=num_blocks, free_blocks=num_blocks // 4)
    families = families_of(msgspec.structs.replace(status, workers=[worker]))
    [usage] = [family for family in families if family.name == "cactus_kv_cache_usage_perc"]
    assert [sample.value for sample in usage.samples] == ([0.75] if num_blocks else [])
