"""The path of the job log of `cactus serve`, and its telemetry collector."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cactus_actors.config_reading import make_config
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.router.telemetry.rotating_file import RotatingFile
from cactus_actors.service.collector import otlp_endpoint
from cactus_actors.service.job_log_target import JobLogTarget

URL = "http://collector:4318"


def never(line: str) -> None:
    raise AssertionError(line)


def test_the_job_log_is_in_the_state_directory_or_at_the_given_path(tmp_path: Path) -> None:
    state = {"state_dir": str(tmp_path)}
    assert JobLogTarget(make_config(state), never).path == str(tmp_path / "jobs.jsonl")
    wished = str(tmp_path / "logs" / "mine")
    assert JobLogTarget(make_config(state, {"job_log": wished}), never).path == wished
    assert JobLogTarget(make_config(state, {"job_log": "none"}), never).path is None


def test_lines_for_standard_error_pass_through_a_pipe_across_router_restarts(tmp_path: Path) -> None:
    said: list[str] = []
    place = JobLogTarget(make_config({"state_dir": str(tmp_path), "job_log": "-"}), said.append)
    assert place.path is not None
    for first in (0, 200):
        file = RotatingFile(Path(place.path))
        for number in range(first, first + 200):
            file.append(f'{{"number": {number}, "word": "é"}}\n'.encode())
        file.close()
    place.close()
    place.close()
    assert said == [f'{{"number": {number}, "word": "é"}}' for number in range(400)]
    assert not Path(place.path).exists()


def test_the_collector_is_configured_or_from_the_environment() -> None:
    environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": URL}
    assert otlp_endpoint(make_config(), {}, never) is None
    assert otlp_endpoint(make_config(), environment, never) == URL
    other = make_config({"otlp_endpoint": "http://other"})
    assert otlp_endpoint(other, environment, never) == "http://other"
    assert otlp_endpoint(make_config({"otlp_endpoint": ""}), environment, never) is None
    assert otlp_endpoint(make_config(), environment | {"OTEL_SDK_DISABLED": "true"}, never) is None


def test_an_invalid_collector_url_is_refused_before_the_start() -> None:
    with pytest.raises(ConfigurationInvalid, match="otlp_endpoint: 'localhost:4318' is not"):
        otlp_endpoint(make_config({"otlp_endpoint": "localhost:4318"}), {}, never)


def test_a_collector_of_the_environment_without_the_package_is_a_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http", None)
    said: list[str] = []
    assert otlp_endpoint(make_config(), {"OTEL_EXPORTER_OTLP_ENDPOINT": URL}, said.append) is None
    assert len(said) == 1
    assert "pip install 'cactus-actors[otel]'" in said[0]
