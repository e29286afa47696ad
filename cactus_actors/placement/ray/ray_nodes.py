"""The nodes of a Ray cluster: Ray's autoscaler is asked for as many as the actors need."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from ray._private.state import state as ray_state
from ray.autoscaler.sdk import request_resources

from cactus_actors.placement.interface import NodeStates
from cactus_actors.process.leaving_node import LeavingNode

INTERVAL_S = 1.0
CLOSE_TIMEOUT_S = 2.0
NODE_LABEL = "ray.io/node-id"
"""The label that Ray gives each node, with its id."""


class RayNodes:
    """Looks once a second at the nodes, and tells Ray's autoscaler which CPUs are needed, in a thread of its own.

    A call to Ray may not return while Ray's server is away; then only this thread waits. What is asked for holds nodes,
    also those that are idle, until less is asked for: at the end of the service nothing is.
    """

    def __init__(self) -> None:
        self._states: NodeStates | None = None
        self._cpus: dict[str, float] = {}
        self._taken: dict[str, tuple[int, LeavingNode]] = {}
        self._avoided: tuple[str, ...] = ()
        self._wanted: tuple[Sequence[int], Collection[str]] = ((), ())
        self._told: list[float] | None = None  # an earlier service may have left a request
        self._is_closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="nodes of Ray", daemon=True)
        self._thread.start()

    @property
    def states(self) -> NodeStates | None:
        return self._states

    @property
    def label_selector(self) -> dict[str, str]:
        """The nodes on which actors may be placed, in the words of Ray."""
        return {NODE_LABEL: f"!in({','.join(self._avoided)})"} if self._avoided else {}

    def avoid(self, node_ids: Collection[str]) -> None:
        self._avoided = tuple(sorted(node_ids))

    def ask_for(self, cpus: Sequence[int], beside: Collection[str] = ()) -> None:
        self._wanted = (tuple(cpus), tuple(beside))

    def close(self) -> None:
        """Ask for no node any more; a second call does nothing."""
        self._wanted = ((), ())
        self._is_closed.set()
        self._thread.join(CLOSE_TIMEOUT_S)

    def _run(self) -> None:
        is_closed = False
        while not is_closed:
            is_closed = self._is_closed.wait(INTERVAL_S)
            with contextlib.suppress(Exception):  # of a Ray that is ending; the control plane is watched elsewhere
                if not is_closed:
                    self._look()
                self._tell()

    def _look(self) -> None:
        # ray.nodes() could start another Ray after the end of this one.
        nodes: list[dict[str, Any]] = ray_state.node_table()  # type: ignore[no-untyped-call]
        alive = {node["NodeID"]: node for node in nodes if node["Alive"]}
        if not alive:  # Ray's server does not answer
            return
        self._cpus = {node_id: node["Resources"].get("CPU", 0.0) for node_id, node in alive.items()}
        draining: dict[str, int] = ray_state.get_draining_nodes()
        taken = tuple(self._taken_nodes({it: ends_ms for it, ends_ms in draining.items() if it in alive}, alive))
        self._states = NodeStates(frozenset(alive), taken)

    def _taken_nodes(self, draining: dict[str, int], alive: dict[str, Any]) -> Iterator[LeavingNode]:
        """The nodes that Ray drains; Ray's times are those of the wall clock, in milliseconds, and 0 is none."""
        for node_id, ends_ms in draining.items():
            known = self._taken.get(node_id)
            if known is None or known[0] != ends_ms:
                ends_at = time.monotonic() + ends_ms / 1000 - time.time() if ends_ms else None
                host = alive[node_id]["NodeManagerHostname"]
                known = self._taken[node_id] = (ends_ms, LeavingNode(node_id=node_id, node=host, ends_at=ends_at))
            yield known[1]

    def _tell(self) -> None:
        """Ask Ray's autoscaler, which does not know that nodes are avoided, for them again beside what is wanted."""
        cpus, beside = self._wanted
        wanted = sorted([*cpus, *(self._cpus[node_id] for node_id in beside if self._cpus.get(node_id))])
        if wanted != self._told:
            request_resources(bundles=[{"CPU": count} for count in wanted])
            self._told = wanted
