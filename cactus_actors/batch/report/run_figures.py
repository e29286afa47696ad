"""The figures of a run's report, counted from its result files alone."""

from __future__ import annotations

import contextlib
from collections import Counter

import msgspec

from cactus_actors.api.anthropic import STOP_REASONS
from cactus_actors.batch.batch_errors import naming_file
from cactus_actors.batch.failure_reasons import Reason, merged_reasons, reasons_of
from cactus_actors.batch.paths import BatchPaths
from cactus_actors.batch.report.bin_counts import MILLISECONDS, SHARES, TOKENS, BinCounts

_FINISH_REASONS = {stop: finish for finish, stop in STOP_REASONS.items()} | {"stop_sequence": "stop"}


class RunFigures(msgspec.Struct, kw_only=True):
    """Counts of lines and of their values; those of several runs can be added up.

    `statuses` are those of handing off, `endings` the reasons why answers ended.
    """

    num_succeeded: int = 0
    num_failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    num_handed_off: int = 0
    statuses: dict[str, int] = {}
    models: dict[str, int] = {}
    endings: dict[str, int] = {}
    reasons: list[Reason] = []
    confidence: BinCounts = msgspec.field(default_factory=lambda: BinCounts(SHARES))
    first_token_ms: BinCounts = msgspec.field(default_factory=lambda: BinCounts(MILLISECONDS))
    total_ms: BinCounts = msgspec.field(default_factory=lambda: BinCounts(MILLISECONDS))
    prompt_length: BinCounts = msgspec.field(default_factory=lambda: BinCounts(TOKENS))
    answer_length: BinCounts = msgspec.field(default_factory=lambda: BinCounts(TOKENS))

    @property
    def num_lines(self) -> int:
        return self.num_succeeded + self.num_failed

    def merge(self, other: RunFigures) -> None:
        """Add the figures of another run."""
        for name in ("num_succeeded", "num_failed", "prompt_tokens", "completion_tokens", "num_handed_off"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("statuses", "models", "endings"):
            setattr(self, name, dict(Counter(getattr(self, name)) + Counter(getattr(other, name))))
        for name in ("confidence", "first_token_ms", "total_ms", "prompt_length", "answer_length"):
            getattr(self, name).merge(getattr(other, name))
        self.reasons = merged_reasons([*self.reasons, *other.reasons])


class _Choice(msgspec.Struct, frozen=True):
    finish_reason: str | None = None


class _Handoff(msgspec.Struct, frozen=True):
    status: str = "none"


class _Usage(msgspec.Struct, frozen=True):
    """The counts of a completion, or those of a message."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    input_tokens: int = 0
    cache_read_input_tokens: int = 0
    output_tokens: int = 0

    @property
    def prompt_length(self) -> int:
        return self.prompt_tokens + self.input_tokens + self.cache_read_input_tokens

    @property
    def answer_length(self) -> int:
        return self.completion_tokens + self.output_tokens


class _Timings(msgspec.Struct, frozen=True):
    time_to_first_token_ms: float | None = None
    total_time_ms: float | None = None


class _Body(msgspec.Struct, frozen=True):
    model: str = ""
    choices: list[_Choice] = []
    stop_reason: str | None = None
    usage: _Usage = _Usage()
    confidence: float | None = None
    cloud_handoff: bool = False
    handoff: _Handoff = _Handoff()
    timings: _Timings = _Timings()


class _Response(msgspec.Struct, frozen=True):
    body: _Body


class _Failure(msgspec.Struct, frozen=True):
    """The error of a line, whatever it is."""


class _Line(msgspec.Struct, frozen=True):
    response: _Response
    error: _Failure | None = None


def figures_of(paths: BatchPaths) -> RunFigures:
    """The figures of a finished run; a line with several choices has neither confidence nor times.

    A line that failed because of its answer has the figures of the answer.
    Raises OutputFailed.
    """
    figures = RunFigures(reasons=reasons_of(paths.errors))
    figures.num_failed = sum(reason.count for reason in figures.reasons)
    decoder = msgspec.json.Decoder(_Line)
    for path in (paths.output, paths.errors):
        with naming_file(path), contextlib.suppress(FileNotFoundError), path.open("rb") as file:
            for line in file:
                with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
                    found = decoder.decode(line)
                    figures.num_succeeded += found.error is None
                    if found.error is None or found.response.body.choices:
                        _count(found.response.body, figures)
    return figures


def _count(body: _Body, figures: RunFigures) -> None:
    usage, timings = body.usage, body.timings
    figures.prompt_tokens += usage.prompt_length
    figures.completion_tokens += usage.answer_length
    figures.num_handed_off += body.cloud_handoff
    _add(figures.statuses, body.handoff.status)
    _add(figures.models, body.model)
    for choice in body.choices:
        _add(figures.endings, choice.finish_reason or "unknown")
    if body.stop_reason is not None:
        _add(figures.endings, _FINISH_REASONS.get(body.stop_reason, body.stop_reason))
    figures.confidence.add(body.confidence)
    figures.first_token_ms.add(timings.time_to_first_token_ms or None)  # a cloud reports none
    figures.total_ms.add(timings.total_time_ms)
    figures.prompt_length.add(usage.prompt_length)
    figures.answer_length.add(usage.answer_length)


def _add(counts: dict[str, int], name: str) -> None:
    counts[name] = counts.get(name, 0) + 1
