"""The lines of the job log, which no job waits for."""

from __future__ import annotations

import json
import logging
import threading
import time
from pathlib import Path

import msgspec
import pytest

from cactus_actors.router.state.job_report import JobReport
from cactus_actors.router.telemetry.job_log import MAX_LINE, JobLog, tenant_hash, time_of
from cactus_actors.router.telemetry.job_reporter import JobReporter
from cactus_actors.router.telemetry.rotating_file import RotatingFile

ENDED_AT = 1_700_000_000.25
REPORT = JobReport(
    job_id="0" * 31 + "1",
    tenant="alice",
    epoch=7,
    model="letters",
    operation="chat",
    worker="w1",
    attempts=2,
    state="finished",
    finish_reason="stop",
    prompt_tokens=6,
    cached_tokens=4,
    completion_tokens=3,
    max_tokens=9,
    queue_s=2.0,
    prefill_s=0.5,
    first_token_s=2.5,
    decode_s=0.25,
    total_s=2.75,
    confidence=0.91234567,
    traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
)


def written(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_log_line_describes_the_job(tmp_path: Path) -> None:
    log = JobLog(RotatingFile(tmp_path / "jobs.jsonl"))
    log.record(REPORT, ENDED_AT)
    log.close()
    assert written(tmp_path / "jobs.jsonl") == [
        {
            "ts": "2023-11-14T22:13:20.250Z",
            "level": "info",
            "job_id": REPORT.job_id,
            "tenant_hash": tenant_hash("alice"),
            "epoch": 7,
            "operation": "chat",
            "model": "letters",
            "state": "finished",
            "finish_reason": "stop",
            "worker": "w1",
            "attempt": 2,
            "dur_ms": 2750.0,
            "queue_ms": 2000.0,
            "prefill_ms": 500.0,
            "first_token_ms": 2500.0,
            "decode_ms": 250.0,
            "prompt_tokens": 6,
            "cached_tokens": 4,
            "completion_tokens": 3,
            "max_tokens": 9,
            "confidence": 0.9123,
            "trace_id": "0af7651916cd43dd8448eb211c80319c",
            "event": "job",
            "code": None,
            "handoff": "none",
            "provider": None,
        }
    ]
    assert "alice" not in (tmp_path / "jobs.jsonl").read_text()
    assert tenant_hash("bob") != tenant_hash("alice") == tenant_hash("alice")
    assert tenant_hash("") is None


def test_a_log_line_is_bounded_and_escaped(tmp_path: Path) -> None:
    log = JobLog(RotatingFile(tmp_path / "jobs.jsonl"))
    hostile = '\x00\n\r"\\\x1b' * 2000
    log.record(
        msgspec.structs.replace(
            REPORT, model=hostile, worker=hostile, provider=hostile, job_id=hostile, error="poison_job"
        ),
        ENDED_AT,
    )
    log.close()
    content = (tmp_path / "jobs.jsonl").read_bytes()
    assert content.count(b"\n") == 1
    assert len(content) <= MAX_LINE
    [line] = written(tmp_path / "jobs.jsonl")
    assert line["model"] == hostile[:120]
    assert (line["level"], line["code"]) == ("warning", "poison_job")


def test_unwritable_lines_are_counted_and_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "logs" / "jobs.jsonl"
    log = JobLog(RotatingFile(path))
    path.unlink()
    path.parent.rmdir()
    for _ in range(5):
        log.record(REPORT, ENDED_AT)
    assert len(caplog.records) == 1
    path.parent.mkdir()
    log.record(REPORT, ENDED_AT)
    log.close()
    first, second = written(path)
    assert (first["event"], first["count"]) == ("left_out", 5)
    assert second["job_id"] == REPORT.job_id
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2


class StuckSink:
    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.num_recorded = 0
        self.num_dropped = 0

    def record(self, report: JobReport, ended_at: float) -> None:
        self.go_on.wait(60)
        self.num_recorded += 1

    def dropped(self, count: int) -> None:
        self.num_dropped += count

    def close(self) -> None:
        pass


def test_a_blocked_sink_delays_no_job() -> None:
    stuck = StuckSink()
    kept = JobReporter([stuck], max_waiting=3)
    started = time.monotonic()
    for _ in range(100):
        kept.observe(REPORT)
    assert time.monotonic() - started < 30
    stuck.go_on.set()
    kept.close()
    assert stuck.num_recorded + stuck.num_dropped == 100
    assert 3 <= stuck.num_recorded <= 4  # the waiting entries, and the one being written


def test_a_failing_observer_does_not_stop_others(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(StuckSink):
        def record(self, report: JobReport, ended_at: float) -> None:
            raise RuntimeError("boom")

    kept = JobReporter([Broken(), JobLog(RotatingFile(tmp_path / "jobs.jsonl"))])
    kept.observe(REPORT)
    kept.observe(REPORT)
    kept.close()
    assert len(written(tmp_path / "jobs.jsonl")) == 2
    assert len(caplog.records) == 2


def test_a_log_line_has_its_time(tmp_path: Path) -> None:
    log = JobLog(RotatingFile(tmp_path / "jobs.jsonl"))
    log.record(REPORT, 1_700_000_000.5)
    log.close()
    assert time_of((tmp_path / "jobs.jsonl").read_bytes()) == 1_700_000_000.5
    for other in (b"", b"\n", b"{}", b'{"ts": 5}', b'{"ts": "yesterday"}', b"\xff", b'{"ts": "2023'):
        assert time_of(other) is None
