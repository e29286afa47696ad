"""The pipeline of Ray Data: files are read, parts are answered by a pool of actors, which write them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
import ray
import ray.data
from ray.exceptions import RayError

from cactus_actors.batch.batch_request import Observer
from cactus_actors.data.parts import PartId, PartsPlan, PartsReport, PartsRequest
from cactus_actors.data.parts.parts_progress import PartsProgress
from cactus_actors.data.parts.parts_request import finished_report
from cactus_actors.protocol.errors import ServerFailure, Unavailable, error_from_info
from cactus_actors.ray_data.part_actor import PartActor
from cactus_actors.ray_data.part_reading import FILE, OUTCOME, PartOutcome, PartReading
from cactus_actors.ray_data.places import EnginePlace, ServicePlace

ASKING_CPUS = 0.1  # of an actor that asks a service
ACTORS_PER_READER = 2  # a row is read much faster than it is answered, and each reader is a process
PARTS_AT_ONCE = 2  # of an actor: the second keeps it busy while the last rows of the first are answered


@dataclass(frozen=True, kw_only=True)
class Pool:
    """The actors of a run: at most `max_actors`, by default as many as the cluster has room for."""

    place: ServicePlace | EnginePlace
    max_actors: int | None = None

    @property
    def num_cpus(self) -> float:
        """Of each actor."""
        return self.place.choice.threads if isinstance(self.place, EnginePlace) else ASKING_CPUS

    @property
    def size(self) -> int:
        """The number of actors in this cluster."""
        if self.max_actors is not None:
            return self.max_actors
        nodes: list[dict[str, Any]] = [node for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call]
        if isinstance(self.place, ServicePlace):
            return len(nodes)
        return max(1, int(sum(node["Resources"].get("CPU", 0.0) for node in nodes) // self.num_cpus))


async def answer_on_ray(request: PartsRequest, model: str, pool: Pool, observe: Observer) -> PartsReport:
    """Answer every row that is in no part yet, on the cluster that this process has joined.

    `model` is that of the answers. Raises what a run raises, and Unavailable if the cluster is lost.
    """
    manifest = await asyncio.to_thread(request.manifest, model)
    with request.begun(manifest) as plan:
        await _in_a_thread(partial(_answer, plan, pool, PartsProgress(plan, observe)))
        if missing := {*plan.manifest.parts()} - plan.finished():
            raise ServerFailure(f"{len(missing)} parts were not written; the same command with --resume continues")
        return await asyncio.to_thread(finished_report, plan)


async def _in_a_thread(work: Callable[[], None]) -> None:
    """Wait for the end of `work`; if the wait is cancelled, leave the cluster, which ends the actors of this run.

    The thread does not hold up the end of the process, as those of asyncio would.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()

    def run() -> None:
        try:
            work()
        except BaseException as error:
            _tell(loop, ended, error)
        else:
            _tell(loop, ended, None)

    threading.Thread(target=run, name="cactus-ray", daemon=True).start()
    try:
        await ended
    except asyncio.CancelledError:
        ray.shutdown()
        raise


def _tell(loop: asyncio.AbstractEventLoop, ended: asyncio.Future[None], error: BaseException | None) -> None:
    def tell() -> None:
        if ended.done():
            return
        if error is None:
            ended.set_result(None)
        else:
            ended.set_exception(error)

    with contextlib.suppress(RuntimeError):  # the loop has ended
        loop.call_soon_threadsafe(tell)


def _answer(plan: PartsPlan, pool: Pool, progress: PartsProgress) -> None:
    try:
        for row in _pipeline(plan, pool, frozenset(progress.finished)).iter_rows():
            outcome = msgspec.json.decode(row[OUTCOME], type=PartOutcome)
            if outcome.error is not None:
                raise error_from_info(outcome.error)
            assert outcome.record is not None, "an outcome is a record or an error"
            progress.add(outcome.record)
    except RayError as error:
        raise Unavailable(f"the Ray cluster: {str(error).splitlines()[0]}") from None


def _pipeline(plan: PartsPlan, pool: Pool, finished: frozenset[PartId]) -> ray.data.Dataset:
    context = ray.data.DataContext.get_current()
    context.target_max_block_size = 1  # a block for each part: it is answered as soon as it is read
    context.target_min_block_size = 1
    context.enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    num_files = len(plan.manifest.files)
    # Neither the numbers of files nor their readers take a CPU: actors may take all of them.
    files = ray.data.from_items([{FILE: file} for file in range(num_files)], override_num_blocks=num_files)
    readers = ray.data.TaskPoolStrategy(size=min(num_files, -(-pool.size // ACTORS_PER_READER)))
    parts = files.map_batches(PartReading(plan, finished), batch_size=1, num_cpus=0, compute=readers)
    actors = ray.data.ActorPoolStrategy(
        min_size=1,
        max_size=pool.size,
        initial_size=pool.size,
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
