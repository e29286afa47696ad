"""The nodes whose workers leave: an operator drains them, or the cluster takes them."""

from __future__ import annotations

from collections.abc import Iterable

from cactus_actors.process.leaving_node import LeavingNode, LeavingNodeStatus
from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.router.scheduling.model_fleet import ModelFleet, ModelFleets

MAX_SHOWN = 100


class LeavingNodes:
    """Nodes by their ids, until they are gone, or are kept after all.

    The supervisor replaces their workers on other nodes. Until a worker elsewhere runs its model, a worker of such a
    node takes jobs, afterwards none.
    """

    def __init__(self, fleets: ModelFleets, nodes: Iterable[LeavingNode]) -> None:
        self._fleets = fleets
        self._nodes = {node.node_id: node for node in nodes}

    @property
    def nodes(self) -> tuple[LeavingNode, ...]:
        """All of them."""
        return tuple(self._nodes.values())

    def leave(self, name: str, ends_at: float | None) -> int:
        """Let all workers leave the nodes of a host name or an id; returns how many workers are there.

        Raises InvalidRequest if there are none, or if the service runs on one machine.
        """
        places = {it.hello.node_id: it.hello.node for it in self._fleets.workers if it.is_local}
        named = {node_id: node for node_id, node in places.items() if name in (node_id, node)}
        if not named:
            nodes = ", ".join(sorted(set(places.values()))) or "none"
            raise InvalidRequest(
                f"no worker runs on a node {name[:MAX_SHOWN]!r}; nodes with workers: {nodes}", param="node"
            )
        if "" in named:
            raise InvalidRequest("all workers run on one machine: there is no other node for them", param="node")
        for node_id, node in named.items():
            self._nodes[node_id] = LeavingNode(node_id=node_id, node=node, ends_at=ends_at)
        return sum(self._num_workers(node_id) for node_id in named)

    def keep(self, name: str) -> None:
        """Let nodes have new workers again; those that get no more jobs still leave. Raises InvalidRequest."""
        kept = [node_id for node_id, node in self._nodes.items() if name in (node_id, node.node)]
        if not kept:
            nodes = ", ".join(sorted({node.node for node in self._nodes.values()})) or "none"
            raise InvalidRequest(f"no node {name[:MAX_SHOWN]!r} is drained; drained nodes: {nodes}", param="node")
        for node_id in kept:
            del self._nodes[node_id]

    def follow(self, taken: Iterable[LeavingNode], gone: Iterable[str]) -> None:
        """Record the nodes that the cluster takes, and the ids of those that it no longer has."""
        for node in taken:
            self._nodes[node.node_id] = node
        for node_id in gone:
            self._nodes.pop(node_id, None)

    def on_tick(self) -> None:
        """Give workers that leave no more jobs where others take them."""
        if self._nodes:
            for fleet in self._fleets:
                self._close(fleet)

    def statuses(self, now: float) -> list[LeavingNodeStatus]:
        """The nodes, with what is left on them."""
        return [
            LeavingNodeStatus(
                node_id=node.node_id,
                node=node.node,
                num_workers=self._num_workers(node.node_id),
                ends_in_s=None if node.ends_at is None else round(max(0.0, node.ends_at - now), 3),
            )
            for node in self._nodes.values()
        ]

    def _num_workers(self, node_id: str) -> int:
        return sum(it.is_local and it.hello.node_id == node_id for it in self._fleets.workers)

    def _close(self, fleet: ModelFleet) -> None:
        workers = fleet.dispatcher.workers
        leaving = [it for it in workers.local.values() if it.hello.node_id in self._nodes]
        if len(leaving) < len(workers.local):
            for worker in leaving:
                workers.drain(worker)
