"""The process that runs the pipeline: a driver of Ray, which may be killed at any moment, and ends with its parent."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

import msgspec

from cactus_actors.data.parts import PartId, PartsPlan
from cactus_actors.protocol.errors import CactusError
from cactus_actors.ray_data.part_reading import PartOutcome
from cactus_actors.ray_data.places import Pool


class PartsTask(NamedTuple):
    """The parts to answer: all of a plan that are not settled."""

    plan: PartsPlan
    pool: Pool
    settled: frozenset[PartId]


def drive(ray_address: str, parent: Connection, output: Path) -> None:
    """Join the cluster, and say so by an empty outcome; then take a task, and give the outcomes of its parts.

    The last outcome may be an error. What this process prints goes to the file `output`.
    """
    os.setsid()
    file = os.open(output, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(file, stream)
    threading.Thread(target=_end_with_parent, name="cactus-parent", daemon=True).start()
    sending = threading.Lock()

    def send(outcome: PartOutcome) -> None:
        with sending:
            parent.send_bytes(msgspec.json.encode(outcome))

    try:
        for outcome in _outcomes(ray_address, parent, send):
            send(outcome)
    except CactusError as error:
        send(PartOutcome(error=error.info()))
    sys.stderr.flush()


def _outcomes(ray_address: str, parent: Connection, send: Callable[[PartOutcome], None]) -> Iterator[PartOutcome]:
    import ray

    from cactus_actors.placement.ray.ray_session import join
    from cactus_actors.ray_data.pipeline import outcomes
    from cactus_actors.ray_data.waiting import waits_told

    join(ray_address)
    yield PartOutcome()
    task: PartsTask = parent.recv()
    with waits_told(task.pool.num_cpus, lambda words: send(PartOutcome(notice=words))):
        yield from outcomes(task.plan, task.pool, task.settled)
    ray.shutdown()


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None, "this process was started by another"
    parent.join()
    os._exit(1)
