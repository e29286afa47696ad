"""`cactus drain`: what it asks for, what it prints while workers leave, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
import typer.testing

from cactus_actors.process.leaving_node import LeavingNodeStatus
from cactus_actors.protocol.messages import DrainNode, Status
from cactus_actors.protocol.service_status import WorkerStatus
from tests.support.router.scripted_router import ScriptedRouter
from tests.support.router.worker_statuses import worker_named

Cactus = Callable[..., typer.testing.Result]


def leaving(num_workers: int, ends_in_s: float | None = None) -> LeavingNodeStatus:
    return LeavingNodeStatus(node_id="f" * 56, node="node-2", num_workers=num_workers, ends_in_s=ends_in_s)


def worker_on(node_id: str) -> WorkerStatus:
    return msgspec.structs.replace(worker_named("worker"), node_id=node_id)


def test_it_asks_for_a_drain_within_a_time(cactus: Cactus, router: ScriptedRouter) -> None:
    told = cactus("drain", "node-2", "--within", "90").stdout
    assert (
        told == "2 workers of node-2 will be replaced elsewhere (`cactus status` shows them; --wait: wait for them)\n"
    )
    [asked] = router.received_of(DrainNode)
    assert (asked.node, asked.within_s, asked.keep) == ("node-2", 90.0, False)


def test_it_waits_until_no_worker_is_left(cactus: Cactus, router: ScriptedRouter) -> None:
    status = router.status
    left = [[leaving(2, 90.0)], [leaving(2, 90.0)], [leaving(1, 62.0)], [leaving(1, 61.0)], [leaving(0)]]

    def shrinking(request_id: str) -> Status:
        workers = [worker_on("a" * 56)]
        return msgspec.structs.replace(status(request_id), leaving_nodes=left.pop(0), workers=workers)

    router.status = shrinking  # type: ignore[method-assign]
    assert cactus("drain", "node-2", "--wait").stdout.splitlines() == [
        "2 workers of node-2 will be replaced elsewhere",
        "node-2: 2 workers to go, it ends in 1 min 30 s",
        "node-2: 1 worker to go, it ends in 1 min 2 s",
        "node-2: no worker left",
    ]


@pytest.mark.parametrize(
    ("within", "words"),
    [
        ((), "no other node has a worker yet: until one has, those of node-2 stay and take all jobs"),
        (
            ("--within", "90"),
            "no other node has a worker yet: if none has in 90 s, those of node-2 leave all the same, and jobs wait, "
            "accepted ones on disk, until another node has room, or until `cactus drain node-2 --undo`",
        ),
    ],
)
def test_it_says_what_happens_if_no_other_node_has_a_worker(
    cactus: Cactus, router: ScriptedRouter, within: tuple[str, ...], words: str
) -> None:
    status = router.status
    states = [([worker_on("f" * 56)], [leaving(1)]), ([worker_on("f" * 56)], [leaving(1)]), ([], [leaving(0)])]

    def alone(request_id: str) -> Status:
        workers, nodes = states.pop(0)
        return msgspec.structs.replace(status(request_id), leaving_nodes=nodes, workers=workers)

    router.status = alone  # type: ignore[method-assign]
    told = cactus("drain", "node-2", "--wait", *within).stdout.splitlines()
    assert told[1] == words
    assert told[-1] == (
        "no other node has a worker: jobs wait, accepted ones on disk, until another node has room, "
        "or until `cactus drain node-2 --undo`"
    )


def test_a_node_that_is_gone_ends_the_wait(cactus: Cactus, router: ScriptedRouter) -> None:
    told = cactus("drain", "node-2", "--wait", "--json")
    assert told.stdout.strip() == '{"node":"node-2","num_workers":2}'
    assert cactus("drain", "node-2", "--wait").stdout.splitlines()[-1] == "node-2 is gone"


def test_it_undoes_a_drain(cactus: Cactus, router: ScriptedRouter) -> None:
    assert cactus("drain", "node-2", "--undo").stdout == "node-2 may have workers again\n"
    [asked] = router.received_of(DrainNode)
    assert asked.keep
    assert cactus("drain", "node-2", "--undo", "--wait").exit_code == 2
    assert len(router.received_of(DrainNode)) == 1
