"""Reports ended jobs to files and collectors, in a separate thread."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from cactus_actors.config import RouterSettings
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.router.state.job_report import JobReport
from cactus_actors.router.telemetry.collector_address import check_collector
from cactus_actors.router.telemetry.job_log import JobLog, time_of
from cactus_actors.router.telemetry.rotating_file import RotatingFile

MAX_WAITING = 10_000
GATHER_S = 0.05
"""Seconds for which reports are gathered: to wake the thread for each takes longer than to record it."""
CLOSE_TIMEOUT_S = 2.0

_log = logging.getLogger(__name__)


class ReportSink(Protocol):
    """Records ended jobs; called by one thread, which may wait for it."""

    def record(self, report: JobReport, ended_at: float, /) -> None:
        """Record one job that ended; `ended_at` is Unix seconds."""
        ...

    def dropped(self, count: int) -> None:
        """The number of reports that were dropped before this one."""
        ...

    def close(self) -> None: ...


class JobReporter:
    """Hands each report to every sink, without ever waiting for them.

    Reports that come faster than they are recorded are dropped and counted.
    """

    def __init__(self, sinks: Sequence[ReportSink], max_waiting: int = MAX_WAITING) -> None:
        self._sinks = sinks
        self._max_waiting = max_waiting
        self._waiting: deque[tuple[JobReport, float]] = deque()
        self._has_waiting, self._is_closing = threading.Event(), threading.Event()
        self._num_dropped = 0
        self._thread = threading.Thread(target=self._run, name="job-reporter", daemon=True)
        self._thread.start()

    def observe(self, report: JobReport) -> None:
        """Queue the report of an ended job; neither waits nor raises."""
        if len(self._waiting) >= self._max_waiting:
            self._num_dropped += 1
            return
        self._waiting.append((report, time.time()))
        if not self._has_waiting.is_set():
            self._has_waiting.set()

    def close(self) -> None:
        """Record the waiting reports, for at most CLOSE_TIMEOUT_S seconds."""
        self._is_closing.set()
        self._has_waiting.set()
        self._thread.join(CLOSE_TIMEOUT_S)

    def _run(self) -> None:
        num_reported = 0
        while not (self._is_closing.is_set() and not self._waiting):
            self._has_waiting.wait()
            self._is_closing.wait(GATHER_S)
            self._has_waiting.clear()
            for _ in range(len(self._waiting)):
                num_dropped = self._num_dropped - num_reported
                num_reported += num_dropped
                self._record(self._waiting.popleft(), num_dropped)
        for sink in self._sinks:
            sink.close()

    def _record(self, entry: tuple[JobReport, float], num_dropped: int) -> None:
        for sink in self._sinks:
            try:
                if num_dropped:
                    sink.dropped(num_dropped)
                sink.record(*entry)
            except Exception:  # one failed report must not cost those of all other jobs
                _log.exception("the report of a job could not be recorded")


def job_reporter_of(settings: RouterSettings, version: str) -> JobReporter | None:
    """The configured reporter, None without sinks; raises ConfigurationInvalid."""
    sinks: list[ReportSink] = []
    if settings.job_log is not None:
        file = RotatingFile(
            Path(settings.job_log),
            max_bytes=settings.job_log_max_bytes,
            num_kept=settings.job_log_num_kept,
            max_age_s=settings.job_log_max_age_s,
            time_of=time_of,
        )
        sinks.append(JobLog(file))
    if settings.otlp_endpoint is not None:
        sinks += _exporters(settings.otlp_endpoint, version)
    return JobReporter(sinks) if sinks else None


def _exporters(endpoint: str, version: str) -> list[ReportSink]:
    check_collector(endpoint)
    try:
        from cactus_actors.router.telemetry.genai_metrics import GenAIMetrics
        from cactus_actors.router.telemetry.spans import Spans, resource_of
    except ModuleNotFoundError as error:
        raise ConfigurationInvalid(
            f"OpenTelemetry is not installed ({error.name}): pip install 'cactus-actors[otel]'",
            param="otlp_endpoint",
        ) from None
    resource = resource_of(version)
    return [Spans(endpoint, resource, version), GenAIMetrics(endpoint, resource, version)]
