"""The path of the job log of `cactus serve`, and its telemetry collector."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cactus_actors.config import make_config
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.router.telemetry.rotating_file import RotatingFile
from cactus_actors.service.collector import otlp_endpoint
from cactus_actors.service.job_log_target import JobLogTarget

URL = "http://collector:4318"


def never(line: str) -> None:
    raise AssertionError(line)


def test_it_is_in_the_state_directory_or_where_it_is_wished(tmp_path: Path) -> None:
    state = {"state_dir": str(tmp_path)}
    assert JobLogTarget(make_config(state), never).path == str(tmp_path / "jobs.jsonl")
    wished = str(tmp_path / "logs" / "mine")
    assert JobLogTarget(make_config(state, {"job_log": wished}), never).path == wished
    assert JobLogTarget(make_config(state, {"job_log": "none"}), never).path is None


def test_lines_for_standard_error_come_through_a_pipe_from_router_after_router(tmp_path: Path) -> None:
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


def test_the_collector_is_the_configured_one_or_the_environments() -> None:
    environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": URL}
    assert otlp_endpoint(make_config(), {}, never) is None
    assert otlp_endpoint(make_config(), environment, never) == URL
    other = make_config({"otlp_endpoint": "http://other"})
    assert otlp_endpoint(other, environment, never) == "http://other"
    assert otlp_endpoint(make_config({"otlp_endpoint": ""}), environment, never) is None
    assert otlp_endpoint(make_config(), environment | {"OTEL_SDK_DISABLED": "true"}, never) is None


def test_a_collector_that_is_no_address_is_refused_before_anything_starts() -> None:
    with pytest.raises(ConfigurationInvalid, match="otlp_endpoint: 'localhost:4318' is not"):
        otlp_endpoint(make_config({"otlp_endpoint": "localhost:4318"}), {}, never)


def test_an_environment_that_asks_for_what_is_not_installed_is_no_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http", None)
    said: list[str] = []
    assert otlp_endpoint(make_config(), {"OTEL_EXPORTER_OTLP_ENDPOINT": URL}, said.append) is None
    assert len(said) == 1
    assert "pip install 'cactus-actors[otel]'" in said[0]
