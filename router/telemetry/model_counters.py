"""Counters of the jobs of one model since the router started."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, get_args

import msgspec

from cactus_actors.protocol.results import FinishReason
from cactus_actors.protocol.totals import Distribution, ModelTotals
from cactus_actors.router.state.job_report import JobReport
from cactus_actors.router.telemetry.histogram import SECONDS, TOKEN_SECONDS, TOKENS, Histogram


class ModelCounters:
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
        self.num_handed_on = 0
        self._ended: Counter[FinishReason] = Counter(dict.fromkeys(get_args(FinishReason), 0))

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

    def totals(self) -> ModelTotals:
        """The current values."""
        return ModelTotals(
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
        )


def sum_of(totals: Sequence[ModelTotals]) -> dict[str, Any]:
    """The values of all models together, by the names of the fields."""
    parts = [msgspec.structs.asdict(one) for one in totals]
    return {name: _sum([part[name] for part in parts]) for name in parts[0]}


def _sum(values: Sequence[Any]) -> Any:
    first = values[0]
    if isinstance(first, Distribution):
        counts = tuple(map(sum, zip(*(one.counts for one in values), strict=True)))
        return Distribution(first.bounds, counts, sum(one.sum for one in values))
    if isinstance(first, dict):
        return {key: sum(one[key] for one in values) for key in first}
    return sum(values)


def _observe(histogram: Histogram, value: float | None) -> None:
    if value is not None:
        histogram.observe(value)
