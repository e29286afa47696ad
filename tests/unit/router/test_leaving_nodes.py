"""Workers of a drained node take no more jobs where others do; the node is known until it is gone or kept."""

from __future__ import annotations

from typing import Any

import pytest

from cactus_actors.process.leaving_node import LeavingNode, LeavingNodeStatus
from cactus_actors.protocol.messages import DrainNode, Rejected, Restarting
from cactus_actors.protocol.worker_messages import Goodbye
from tests.support.router.core_harness import RouterHarness, job_id

A, B = "a" * 56, "b" * 56


def on_two_nodes() -> RouterHarness:
    """Two workers on the node `left`, one on `stays`, with one slot each."""
    router = RouterHarness(desired_workers=3, on_deck=0)
    for name, node, node_id in (("w1", "left", A), ("w2", "left", A), ("w3", "stays", B)):
        router.connect(name, num_slots=1, node=node, node_id=node_id)
    return router


def drain(router: RouterHarness, node: str = "left", **more: Any) -> Any:
    [answer] = router.client(DrainNode(node=node, request_id="r", **more))
    router.tick()
    return answer


def leaving(router: RouterHarness) -> list[LeavingNodeStatus]:
    return router.core.status(router.now).leaving_nodes


@pytest.mark.parametrize("name", ["left", A])
def test_workers_of_a_drained_node_get_no_job_and_their_own_continue_elsewhere_when_they_leave(name: str) -> None:
    router = on_two_nodes()
    for number in (1, 2, 3):
        router.submit(number)
    assert drain(router, name) == Restarting(num_workers=2, request_id="r")
    assert router.core.ready_workers == ("w3",)
    [on_w1] = [number for number in (1, 2, 3) if router.running(number)[0].hello.worker_id == "w1"]
    router.generate(on_w1, "ab")
    router.submit(4)
    assert not router.is_running(4)
    router.connect("w4", num_slots=1, node="other", node_id="c" * 56)
    assert router.running(4)[0].hello.worker_id == "w4"
    router.say(router.running(on_w1)[0], Goodbye())
    router.connect("w5", num_slots=1, node="other", node_id="c" * 56)
    worker, dispatch = router.running(on_w1)
    assert worker.hello.worker_id == "w5"
    assert dispatch.emitted_ids == [ord("a"), ord("b")]
    assert router.core.state.jobs.live[job_id(on_w1)].attempts.lost_workers == []
    assert [(it.node, it.num_workers) for it in leaving(router)] == [("left", 1)]


def test_a_drained_node_serves_until_a_worker_elsewhere_does() -> None:
    router = RouterHarness(on_deck=0)
    router.connect("w1", num_slots=1, node="left", node_id=A)
    drain(router)
    router.submit(1)
    assert router.running(1)[0].hello.worker_id == "w1"
    router.connect("w2", num_slots=1, node="stays", node_id=B)
    router.tick()
    assert router.core.ready_workers == ("w2",)


def test_a_worker_that_joins_on_a_drained_node_gets_no_job() -> None:
    router = on_two_nodes()
    drain(router)
    router.connect("w4", node="left", node_id=A)
    router.tick()
    assert router.core.ready_workers == ("w3",)


def test_the_supervisor_and_status_know_the_node_and_its_end_until_it_is_kept() -> None:
    router = on_two_nodes()
    drain(router, within_s=100.0)
    router.now += 40.0
    [status] = leaving(router)
    assert (status.node_id, status.num_workers) == (A, 2)
    assert status.ends_in_s == pytest.approx(60.0, abs=1.0)
    [node] = router.core.state.leaving_nodes.nodes
    drain(router, keep=True)
    assert leaving(router) == []
    again = RouterHarness(leaving_nodes=[node])
    assert again.core.state.leaving_nodes.nodes == (node,)


def test_what_the_cluster_says_is_followed() -> None:
    router = on_two_nodes()
    taken = LeavingNode(node_id=B, node="stays", ends_at=router.now + 30.0)
    router.core.follow_nodes([taken], [])
    router.tick()
    assert router.core.ready_workers == ("w1", "w2")
    router.core.follow_nodes([], [B])
    assert leaving(router) == []


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"node": "elsewhere"}, "nodes with workers: left, stays"),
        ({"node": "left", "keep": True}, "drained nodes: none"),
        ({"node": "left", "within_s": -1.0}, "within_s must be between"),
        ({"node": "left", "within_s": float("nan")}, "within_s must be between"),
    ],
)
def test_unknown_nodes_and_times_are_refused_and_nothing_happens(message: dict[str, Any], words: str) -> None:
    router = on_two_nodes()
    answer = drain(router, **message)
    assert isinstance(answer, Rejected)
    assert words in answer.error.message
    assert set(router.core.ready_workers) == {"w1", "w2", "w3"}


def test_a_service_on_one_machine_has_no_other_node() -> None:
    router = RouterHarness()
    router.connect("w1", node="here")
    answer = drain(router, "here")
    assert isinstance(answer, Rejected)
    assert "no other node" in answer.error.message
