"""`cactus drain`: what it asks for, what it prints while workers leave, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import typer.testing

from cactus_actors.process.leaving_node import LeavingNodeStatus
from cactus_actors.protocol.messages import DrainNode, Status
from tests.support.router.scripted_router import ScriptedRouter

Cactus = Callable[..., typer.testing.Result]


def leaving(num_workers: int, ends_in_s: float | None = None) -> LeavingNodeStatus:
    return LeavingNodeStatus(node_id="f" * 56, node="node-2", num_workers=num_workers, ends_in_s=ends_in_s)


def test_it_asks_for_a_drain_within_a_time(cactus: Cactus, router: ScriptedRouter) -> None:
    told = cactus("drain", "node-2", "--within", "90").stdout
    assert told == "2 workers of node-2 will be replaced elsewhere (`cactus status` shows them, --wait waits)\n"
    [asked] = router.received_of(DrainNode)
    assert (asked.node, asked.within_s, asked.keep) == ("node-2", 90.0, False)


def test_it_waits_until_no_worker_is_left(cactus: Cactus, router: ScriptedRouter) -> None:
    status, left = router.status, [[leaving(2, 90.0)], [leaving(1, 62.0)], [leaving(1, 61.0)], [leaving(0)]]

    def shrinking(request_id: str) -> Status:
        return msgspec.structs.replace(status(request_id), leaving_nodes=left.pop(0))

    router.status = shrinking  # type: ignore[method-assign]
    assert cactus("drain", "node-2", "--wait").stdout.splitlines() == [
        "2 workers of node-2 will be replaced elsewhere",
        "node-2: 2 workers to go, it ends in 1 min 30 s",
        "node-2: 1 worker to go, it ends in 1 min 2 s",
        "node-2: no worker left",
    ]


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
