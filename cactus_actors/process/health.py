"""What actors answer to the process that supervises them."""

from __future__ import annotations

from typing import Literal

import msgspec


class Endpoints(msgspec.Struct, frozen=True):
    """Where the router listens, ports resolved."""

    jobs: str
    stream: str
    workers: str


class RouterHealth(msgspec.Struct, frozen=True):
    """A recent count of what the router holds.

    `desired_workers` is what clients wish for; they wished `num_restarts_requested` times for new workers.
    """

    epoch: int
    desired_workers: int
    ready_workers: tuple[str, ...]
    num_queued: int
    num_unfinished: int
    num_restarts_requested: int = 0


LoadingPhase = Literal["loading", "packing", "compiling"]


class WorkerHealth(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker says about itself; `last_tick_s` is the age of its loop's last turn.

    While its state is `loading`, `phase` says what it does, and `share_done` how much of that is done, if it
    is known.
    """

    worker_id: str
    pid: int
    state: Literal["loading", "ready", "draining", "left"]
    last_tick_s: float
    phase: LoadingPhase = "loading"
    share_done: float | None = None


class GatewayHealth(msgspec.Struct, frozen=True, kw_only=True):
    """What the gateway says about itself."""

    pid: int
    address: str
    num_open: int


class HandoffHealth(msgspec.Struct, frozen=True, kw_only=True):
    """The handoff at a glance; `num_requests` counts HTTP requests, the others jobs, `num_failed` by kind."""

    worker_id: str
    connected: bool
    unavailable: str | None
    breaker: str
    num_running: int
    num_started: int
    num_requests: int
    num_answered: int
    num_failed: dict[str, int]
