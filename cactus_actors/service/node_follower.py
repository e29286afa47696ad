"""The service's part in a cluster that grows, shrinks and takes nodes away."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from cactus_actors.fleet.worker_pools import WorkerPools
from cactus_actors.placement.interface import Nodes
from cactus_actors.process.leaving_node import LeavingNode
from cactus_actors.process.private_directories import replace_private

FILE_NAME = "leaving-nodes.json"
STOP_BEFORE_S = 5.0
"""Workers give their jobs back so many seconds before their node ends, though nothing replaces them yet."""

TellRouter = Callable[[Sequence[LeavingNode], Sequence[str]], None]
"""(nodes that the cluster takes, ids of nodes that are gone)"""


class NodeFollower:
    """Asks for nodes for the desired workers, and moves workers away from nodes that end or are drained.

    `leaving` are the nodes of the router, which knows what operators want; it is told what the cluster says. They are
    also in a file, for the next service.
    """

    def __init__(self, workers: WorkerPools, tell_router: TellRouter, announce: Callable[[str], None]) -> None:
        self.leaving: tuple[LeavingNode, ...] = ()
        self._workers = workers
        self._tell_router = tell_router
        self._announce = announce
        self._path: Path | None = None

    def open(self, state_dir: Path) -> None:
        """Take over the nodes that an earlier service left in its state directory."""
        self._path = state_dir / FILE_NAME
        try:
            self.leaving = msgspec.json.decode(self._path.read_bytes(), type=tuple[LeavingNode, ...])
        except FileNotFoundError:
            return
        except (OSError, msgspec.MsgspecError) as error:
            self._announce(f"{self._path} cannot be read, drained nodes may get workers: {error}")

    def follow(self, nodes: Nodes, cpus: Sequence[int], now: float) -> None:
        """Look at the nodes; `cpus` are those of each desired worker."""
        if nodes.states is not None:
            known = {node.node_id: node for node in self.leaving}
            taken = [node for node in nodes.states.taken if known.get(node.node_id) != node]
            gone = known.keys() - nodes.states.alive
            if taken or gone:
                self._tell_router(taken, sorted(gone))
        ending = {it.node_id: it.ends_at is not None and it.ends_at - now < STOP_BEFORE_S for it in self.leaving}
        nodes.avoid(ending.keys())
        nodes.ask_for(cpus, beside=ending.keys() & self._workers.node_ids)
        self._workers.leave(ending)

    def update(self, leaving: tuple[LeavingNode, ...]) -> None:
        """Take over the nodes of the router."""
        if leaving == self.leaving:
            return
        for node in leaving:
            if node not in self.leaving:
                self._announce(f"the workers of {node.node} leave it")
        self.leaving = leaving
        self._save()

    def _save(self) -> None:
        """Write the nodes without the ends of this machine's clock, which the cluster tells again."""
        if self._path is not None:
            nodes = [msgspec.structs.replace(node, ends_at=None) for node in self.leaving]
            try:
                replace_private(self._path, msgspec.json.encode(nodes))
            except OSError as error:
                self._announce(f"{self._path} cannot be written, a restart forgets drained nodes: {error.strerror}")
