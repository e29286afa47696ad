"""Decides which workers leave first when there are too many: those whose node empties."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple


class Leaver(NamedTuple):
    """A worker that may leave: its node, and the jobs that it has."""

    worker_id: str
    node: str
    num_jobs: int


def leaving_order(workers: Iterable[Leaver], num_on_node: Counter[str], home: str) -> list[str]:
    """The names of workers, those first that leave first.

    Nodes empty one after the other: the one with the fewest workers of all models, `num_on_node`, and with the fewest
    jobs among equals, is first. The node `home` is last, where the service itself runs: it cannot be given back. On a
    node the worker with the least to do leaves first, and the last one of `workers` among equals.
    """
    leavers = list(workers)[::-1]  # sorting keeps the order of equals
    jobs_on_node: Counter[str] = Counter()
    for worker in leavers:
        jobs_on_node[worker.node] += worker.num_jobs

    def place(worker: Leaver) -> tuple[bool, int, int, str, int]:
        node = worker.node
        return node == home, num_on_node[node], jobs_on_node[node], node, worker.num_jobs

    return [worker.worker_id for worker in sorted(leavers, key=place)]
