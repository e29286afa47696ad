"""Says what the actors of a run wait for, as long as none of them has a place."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from cactus_actors.ray_data.part_actor import PartActor

LOOK_EVERY_S = 2.0
SAY_AGAIN_S = 10.0


@contextlib.contextmanager
def waits_told(num_cpus: float, tell: Callable[[str], None]) -> Iterator[None]:
    """Tell within the context, from a thread of its own, what actors of `num_cpus` each wait for."""
    has_ended = threading.Event()

    def look() -> None:
        told, told_at = "", 0.0
        while not has_ended.wait(LOOK_EVERY_S):
            with contextlib.suppress(Exception):  # the pipeline says what is wrong with the cluster
                words = _wait_now(num_cpus)
                if words and (words != told or time.monotonic() - told_at >= SAY_AGAIN_S):
                    tell(words)
                    told, told_at = words, time.monotonic()

    threading.Thread(target=look, name="cactus-waits", daemon=True).start()
    try:
        yield
    finally:
        has_ended.set()


def _wait_now(num_cpus: float) -> str:
    import ray
    from ray._private.state import state as ray_state

    job = ray.JobID.from_hex(ray.get_runtime_context().get_job_id())
    actors = [*ray_state.actor_table(None, job, None).values()]
    nodes = [node for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call]
    free = ray.available_resources().get("CPU", 0.0)  # type: ignore[no-untyped-call]
    return wait_in_words(actors, num_cpus, [node["Resources"].get("CPU", 0.0) for node in nodes], free)


def wait_in_words(
    actors: Sequence[Mapping[str, Any]], num_cpus: float, cpus_of_nodes: Sequence[float], free: float
) -> str:
    """What these actors of Ray's table wait for; empty if one of them has a process, or none waits."""
    mine = [actor for actor in actors if PartActor.__name__ in actor["ActorClassName"] and actor["State"] != "DEAD"]
    if not mine or any(actor["Pid"] for actor in mine):
        return ""
    who = "1 actor waits" if len(mine) == 1 else f"{len(mine)} actors wait"
    place = f"{free:g} of {sum(cpus_of_nodes):g} of the cluster are free"
    largest = max(cpus_of_nodes, default=0.0)
    if largest < num_cpus:
        place += f", and no node has more than {largest:g}"
    return f"{who} for CPUs: each wants {num_cpus:g} of one node, {place}"
