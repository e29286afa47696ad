"""The answers of actors to the process that supervises them."""

from __future__ import annotations

from typing import Literal

import msgspec

from cactus_actors.process.leaving_node import LeavingNode


class Endpoints(msgspec.Struct, frozen=True):
    """The router's endpoints, with ports resolved."""

    jobs: str
    stream: str
    workers: str


class RouterHealth(msgspec.Struct, frozen=True):
    """Recent counts of the router's jobs and workers.

    `desired_workers`, by the name of their model (empty for the only one), and `num_restarts_requested` are the
    requests of operators so far. The `unloaded` models have no workers until a job needs them; the numbers of the
    `fixed` ones were set by an operator. Of the `ready_workers` the last ones are the first that may leave; those of
    `leaving_nodes` are replaced on others.
    """

    epoch: int
    desired_workers: dict[str, int]
    ready_workers: tuple[str, ...]
    num_queued: int
    num_unfinished: int
    num_restarts_requested: int = 0
    unloaded: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    leaving_nodes: tuple[LeavingNode, ...] = ()


LoadingPhase = Literal["loading", "packing", "compiling"]


class WorkerHealth(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a worker on this `node`; `last_tick_s` is the age of the last iteration of its main loop.

    `node_id` is that of its node in its cluster. While `state` is `loading`, `phase` is the phase of the start, and
    `share_done` the completed share, if known; `num_compiled` functions were compiled so far, and `compiling` is.
    """

    worker_id: str
    pid: int
    state: Literal["loading", "ready", "draining", "left"]
    last_tick_s: float
    node: str = ""
    node_id: str = ""
    phase: LoadingPhase = "loading"
    share_done: float | None = None
    num_compiled: int = 0
    compiling: str = ""


class GatewayHealth(msgspec.Struct, frozen=True, kw_only=True):
    """The state of the gateway."""

    pid: int
    address: str
    num_open: int


class HandoffHealth(msgspec.Struct, frozen=True, kw_only=True):
    """The state of the handoff actor; `num_requests` counts HTTP requests, the others jobs, `num_failed` by kind."""

    worker_id: str
    connected: bool
    unavailable: str | None
    breaker: str
    num_running: int
    num_started: int
    num_requests: int
    num_answered: int
    num_failed: dict[str, int]
