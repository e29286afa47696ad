"""Counters of jobs, dispatches, workers and streams since the router started."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, get_args

from cactus_actors.protocol.results import FinishReason
from cactus_actors.protocol.totals import AttemptOutcome, CloudOutcome, Totals, WorkerLoss
from cactus_actors.protocol.worker_messages import SequenceDelta
from cactus_actors.router.state.job_report import JobReport
from cactus_actors.router.telemetry.histogram import SECONDS, TOKEN_SECONDS, TOKENS, Histogram


class RouterCounters:
    """Written by the parts that decide; no decision reads it."""

    def __init__(self) -> None:
        self._queue_seconds = Histogram(SECONDS)
        self._prefill_seconds = Histogram(SECONDS)
        self._first_token_seconds = Histogram(SECONDS)
        self.inter_token_seconds = Histogram(TOKEN_SECONDS)
        self._decode_seconds = Histogram(SECONDS)
        self._job_seconds = Histogram(SECONDS)
        self._prompt_tokens = Histogram(TOKENS)
        self._completion_tokens = Histogram(TOKENS)
        self._max_tokens = Histogram(TOKENS)
        self._prompt_tokens_done = 0
        self.num_generated_tokens = 0
        self._ended: Counter[FinishReason] = _zeros(FinishReason)
        self._late_deltas = 0
        self._late_tokens = 0
        self._resumes = 0
        self._replayed_items = 0
        self._stream_gaps = 0
        self.attempts: Counter[AttemptOutcome] = _zeros(AttemptOutcome)
        self.cloud_attempts: Counter[CloudOutcome] = _zeros(CloudOutcome)
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

    def on_ended(self, report: JobReport) -> None:
        """Count an ended job."""
        self._ended[report.finish_reason] += 1
        if report.attempts:
            self._prompt_tokens_done += report.prompt_tokens
        self._prompt_tokens.observe(report.prompt_tokens)
        if report.operation != "embedding":
            self._completion_tokens.observe(report.completion_tokens)
            _observe(self._max_tokens, report.max_tokens)
        self._queue_seconds.observe(report.queue_s)
        _observe(self._prefill_seconds, report.prefill_s)
        _observe(self._first_token_seconds, report.first_token_s)
        _observe(self._decode_seconds, report.decode_s)
        self._job_seconds.observe(report.total_s)

    def totals(self) -> Totals:
        """The current values."""
        return Totals(
            queue_seconds=self._queue_seconds.distribution(),
            prefill_seconds=self._prefill_seconds.distribution(),
            first_token_seconds=self._first_token_seconds.distribution(),
            inter_token_seconds=self.inter_token_seconds.distribution(),
            decode_seconds=self._decode_seconds.distribution(),
            job_seconds=self._job_seconds.distribution(),
            prompt_tokens=self._prompt_tokens.distribution(),
            completion_tokens=self._completion_tokens.distribution(),
            max_tokens=self._max_tokens.distribution(),
            prompt_tokens_done=self._prompt_tokens_done,
            generated_tokens=self.num_generated_tokens,
            ended=dict(self._ended),
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
        )


def _observe(histogram: Histogram, value: float | None) -> None:
    if value is not None:
        histogram.observe(value)


def _zeros(names: Any) -> Counter[Any]:
    """A count for each value of a Literal, so that absent events show as 0."""
    return Counter(dict.fromkeys(get_args(names), 0))
