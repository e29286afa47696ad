"""Failures of a job log and of a collector do not affect the router's jobs."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from cactus_actors import Client
from cactus_actors.config import RouterSettings
from cactus_actors.protocol.errors import ConfigurationInvalid, InvalidRequest
from cactus_actors.protocol.messages import Rejected
from cactus_actors.router.actor import RouterActor
from tests.support.router.echo_worker import EchoWorker
from tests.support.router.letter_model import LetterModel
from tests.support.router.running_router import LOOPBACK, Service, serving, submit
from tests.support.router.scripted_router import until

NUM_JOBS = 20


def seconds_of_jobs(service: Service) -> float:
    endpoints = service.endpoints
    with EchoWorker(endpoints.workers, step_s=0.001), Client(endpoints.jobs, endpoints.stream) as client:
        client.complete("warm", max_tokens=1)
        started = time.monotonic()
        for _ in range(NUM_JOBS):
            assert client.complete("hi", max_tokens=2).success
        return time.monotonic() - started


def test_a_full_disk_fails_no_job(caplog: pytest.LogCaptureFixture) -> None:
    with serving(job_log="/dev/full") as service:
        seconds_of_jobs(service)
    of_the_log = [record for record in caplog.records if record.name == "cactus_actors.router.telemetry.job_log"]
    assert [record.levelno for record in of_the_log] == [logging.WARNING]


def test_an_unread_pipe_fails_no_job(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    writer = os.open(tmp_path / "pipe", os.O_WRONLY | os.O_NONBLOCK)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, b"x" * 4096)
    with serving(job_log=str(tmp_path / "pipe")) as service:
        seconds_of_jobs(service)
    os.close(reader)
    os.close(writer)


@pytest.mark.parametrize("answers", [True, False])
def test_an_unresponsive_collector_delays_no_job(
    answers: bool, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One collector refuses connections, and one accepts them and never answers."""
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.2")
    with serving() as service:
        usual_s = min(seconds_of_jobs(service) for _ in range(3))
    with socket.socket() as collector:
        collector.bind(("127.0.0.1", 0))
        if answers:
            collector.listen(50)
        url = f"http://127.0.0.1:{collector.getsockname()[1]}"
        with serving(otlp_endpoint=url) as service:
            until(
                lambda: seconds_of_jobs(service) < 2 * usual_s + 1.5
            )  # other work on the machine makes some tries slow
            until(lambda: bool(caplog.records))
    assert [record.name for record in caplog.records] == ["cactus_actors.router.telemetry.spans"]


@pytest.mark.parametrize("endpoint", ["collector:4318", "http://", "ftp://collector", "http://[", "http://a:x"])
def test_an_invalid_endpoint_is_named(endpoint: str) -> None:
    actor = RouterActor(RouterSettings(**LOOPBACK, otlp_endpoint=endpoint), LetterModel())
    with pytest.raises(ConfigurationInvalid, match="is not http://HOST:PORT"):
        actor.start()


def test_without_the_extra_the_error_names_the_package_to_install() -> None:
    program = """
import sys
sys.modules["opentelemetry"] = None
from cactus_actors.config import RouterSettings
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.router.telemetry.job_reporter import job_reporter_of
assert job_reporter_of(RouterSettings(), "") is None
try:
    job_reporter_of(RouterSettings(otlp_endpoint="http://localhost:4318"), "")
except ConfigurationInvalid as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert "pip install 'cactus-actors[otel]'" in done.stdout, done.stderr


def test_an_invalid_traceparent_is_refused() -> None:
    with serving() as service:
        client = service.client()
        client.send(msgspec.structs.replace(submit(1), traceparent="00-x"))
        refused = client.receive()
    assert isinstance(refused, Rejected)
    assert (refused.error.type, refused.error.param) == (InvalidRequest.type, "traceparent")
