"""The room that a request takes before it runs."""

from __future__ import annotations

from dataclasses import dataclass

from cactus_actors.router.state.queue_load import QueueLoad


@dataclass(frozen=True, slots=True)
class Reservation:
    """A request's `load` in memory and its expected `work`, in generated tokens.

    `user` gets a share of the service by `weight`; background work counts for nobody's share.
    """

    user: str
    weight: int
    load: QueueLoad
    work: float
    is_background: bool = False
