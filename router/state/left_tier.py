"""A model of a cascade that a job has left, with its answer."""

from __future__ import annotations

from typing import NamedTuple

from cactus_actors.router.state.cloud_attempt import GateFailure
from cactus_actors.router.state.local_run import LocalAnswer
from cactus_actors.router.state.prepared_request import PreparedRequest


class LeftTier(NamedTuple):
    """The answer of a model, whole or not, that failed a gate: the job returns to it if no later model can answer.

    `virtual_start` is the turn that the job had in the queue of that model.
    """

    model: str
    prepared: PreparedRequest
    answer: LocalAnswer
    gate_failure: GateFailure
    threshold: float
    virtual_start: float
