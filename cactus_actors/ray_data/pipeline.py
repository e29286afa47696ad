"""The pipeline of Ray Data: files are read, parts are answered by a pool of actors, which write them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import msgspec
import ray
import ray.data
from ray.exceptions import RayError

from cactus_actors.data.parts import PartId, PartsPlan
from cactus_actors.protocol.errors import Unavailable
from cactus_actors.ray_data.part_actor import PartActor
from cactus_actors.ray_data.part_reading import FILE, OUTCOME, PartOutcome, PartReading
from cactus_actors.ray_data.places import Pool, ServicePlace

ACTORS_PER_READER = 2  # a row is read much faster than it is answered, and each reader is a process
PARTS_AT_ONCE = 2  # of an actor: the second keeps it busy while the last rows of the first are answered


def outcomes(plan: PartsPlan, pool: Pool, settled: frozenset[PartId]) -> Iterator[PartOutcome]:
    """Answer the parts that are not settled, on the cluster that this process has joined; raises Unavailable."""
    try:
        for row in _pipeline(plan, pool, settled).iter_rows():
            yield msgspec.json.decode(row[OUTCOME], type=PartOutcome)
    except RayError as error:
        raise Unavailable(f"the Ray cluster: {str(error).splitlines()[0]}") from None


def _pipeline(plan: PartsPlan, pool: Pool, settled: frozenset[PartId]) -> ray.data.Dataset:
    context = ray.data.DataContext.get_current()
    context.target_max_block_size = 1  # a block for each part: it is answered as soon as it is read
    context.target_min_block_size = 1
    context.enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    size = _size(pool)
    num_files = len(plan.manifest.files)
    # Neither the numbers of files nor their readers take a CPU: actors may take all of them.
    files = ray.data.from_items([{FILE: file} for file in range(num_files)], override_num_blocks=num_files)
    readers = ray.data.TaskPoolStrategy(size=min(num_files, -(-size // ACTORS_PER_READER)))
    parts = files.map_batches(PartReading(plan, settled), batch_size=1, num_cpus=0, compute=readers)
    actors = ray.data.ActorPoolStrategy(
        min_size=1,
        max_size=size,
        initial_size=size,
        max_tasks_in_flight_per_actor=PARTS_AT_ONCE,
        max_concurrent_calls_per_actor=PARTS_AT_ONCE,
        enable_true_multi_threading=True,
    )
    return parts.map_batches(
        PartActor,
        fn_constructor_args=(plan, pool.place),
        batch_size=1,
        compute=actors,
        num_cpus=pool.num_cpus,
    )


def _size(pool: Pool) -> int:
    """The number of actors in this cluster."""
    if pool.max_actors is not None:
        return pool.max_actors
    nodes: list[dict[str, Any]] = [node for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call]
    if isinstance(pool.place, ServicePlace):
        return len(nodes)
    return max(1, int(sum(node["Resources"].get("CPU", 0.0) for node in nodes) // pool.num_cpus))
