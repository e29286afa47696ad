"""Counters of dispatches, workers and streams since the router started."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, get_args

from cactus_actors.protocol.handoff_gates import Gate
from cactus_actors.protocol.totals import AttemptOutcome, CloudOutcome, ModelTotals, Totals, WorkerLoss
from cactus_actors.protocol.worker_messages import SequenceDelta
from cactus_actors.router.telemetry.model_counters import sum_of


class RouterCounters:
    """Written by the parts that decide; no decision reads it."""

    def __init__(self) -> None:
        self._late_deltas = 0
        self._late_tokens = 0
        self._resumes = 0
        self._replayed_items = 0
        self._stream_gaps = 0
        self.attempts: Counter[AttemptOutcome] = _zeros(AttemptOutcome)
        self.cloud_attempts: Counter[CloudOutcome] = _zeros(CloudOutcome)
        self.failed_gates: Counter[Gate] = _zeros(Gate)
        self.lost_workers: Counter[WorkerLoss] = _zeros(WorkerLoss)
        self.num_farewells = 0
        self.num_lost_edges = 0
        self.rejected: Counter[str] = Counter()
        self.bad_frames: Counter[str] = Counter()

    def on_late(self, deltas: Sequence[SequenceDelta]) -> None:
        """Count deltas of void dispatches, whose tokens are dropped."""
        self._late_deltas += len(deltas)
        self._late_tokens += sum(len(delta.token_ids) for delta in deltas)

    def on_replay(self, num_items: int, *, is_gap: bool) -> None:
        """Count a replay; a gap is a replay of items that were published before."""
        self._resumes += 1
        self._replayed_items += num_items
        self._stream_gaps += is_gap

    def totals(self, models: Sequence[ModelTotals]) -> Totals:
        """The current values, with those of all models."""
        return Totals(
            **sum_of(models),
            attempts=dict(self.attempts),
            cloud_attempts=dict(self.cloud_attempts),
            lost_workers=dict(self.lost_workers),
            farewells=self.num_farewells,
            rejected=dict(self.rejected),
            bad_frames=dict(self.bad_frames),
            late_deltas=self._late_deltas,
            late_tokens=self._late_tokens,
            resumes=self._resumes,
            replayed_items=self._replayed_items,
            stream_gaps=self._stream_gaps,
            lost_edges=self.num_lost_edges,
            failed_gates=dict(self.failed_gates),
        )


def _zeros(names: Any) -> Counter[Any]:
    """A count for each value of a Literal, so that absent events show as 0."""
    return Counter(dict.fromkeys(get_args(names), 0))
