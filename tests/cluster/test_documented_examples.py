"""Examples of the documents work against a service: Python runs, commands and options exist."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cactus_actors.cli.main import app
from cactus_actors.config import ServeConfig
from tests.support.services.running_service import Running, running_service
from tests.support.text.documents import page

DATA = page("guide/data.md")
QUICKSTART = page("guide/quickstart.md")
PYTHON_BLOCKS = re.findall(r"^```python\n(.*?)^```", QUICKSTART, re.M | re.S)
SMALL_CLIENT, *_ = re.findall(r"^```python\n(.*?)^```", page("reference/protocol.md"), re.M | re.S)
STRUCTURED, *_ = re.findall(r"^```python\n(.*?)^```", page("reference/structured-output.md"), re.M | re.S)
COMMANDS = sorted(set(re.findall(r"^    (cactus .*?)(?:  +#.*)?$", QUICKSTART, re.M)))


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service with the embedded model; examples change nothing in it."""
    endpoints = {"jobs_endpoint": "tcp://127.0.0.1:*", "stream_endpoint": "tcp://127.0.0.1:*", "http": ""}
    with running_service(ServeConfig(workers=1, state_dir=tmp_path_factory.mktemp("state"), **endpoints)) as service:
        yield service


def run_example(code: str, service: Running, variables: dict[str, Any] | None = None) -> None:
    ours = code.replace('"tcp://127.0.0.1:5555"', f'"{service.endpoints.jobs}", "{service.endpoints.stream}"')
    assert ours != code
    exec(compile(ours, "example", "exec"), {} if variables is None else variables)


def test_the_python_of_the_quickstart_runs(service: Running, capsys: pytest.CaptureFixture[str]) -> None:
    assert PYTHON_BLOCKS
    for block in PYTHON_BLOCKS:
        run_example(block, service)
    assert "Paris" in capsys.readouterr().out


def test_the_small_client_of_the_protocol_page_runs(service: Running, capsys: pytest.CaptureFixture[str]) -> None:
    code = SMALL_CLIENT.replace("tcp://127.0.0.1:5555", service.endpoints.jobs)
    code = code.replace("tcp://127.0.0.1:5556", service.endpoints.stream)
    exec(compile(code, "protocol.md", "exec"), {})
    assert "Paris" in capsys.readouterr().out


def test_the_example_of_structured_output_runs(service: Running, capsys: pytest.CaptureFixture[str]) -> None:
    run_example(STRUCTURED, service)
    out = capsys.readouterr().out
    person, end = json.JSONDecoder().raw_decode(out)  # it may be split over several lines
    assert set(person) == {"name", "age"}
    answer, *fruits = out[end:].split()
    assert answer in ("yes", "no")
    assert re.fullmatch("(- [a-z]{3,8} ?){3}", " ".join(fruits))


def test_the_commands_of_the_page_on_tables_run(
    service: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CACTUS_ENDPOINT", service.endpoints.jobs)
    monkeypatch.setenv("CACTUS_STREAM_ENDPOINT", service.endpoints.stream)
    first, columns, in_parts, in_memory = re.findall(r"^```python\n(.*?)^```", DATA, re.M | re.S)
    [schema] = re.findall(r"^```json\n(.*?)^```", DATA, re.M | re.S)
    variables: dict[str, Any] = {}
    exec(compile(first, "data.md", "exec"), variables)
    (tmp_path / "answer.json").write_text(schema)
    commands = re.findall(r"^    cactus (batch .*)$", DATA.replace("\\\n", " "), re.M)
    for command in (command for command in commands if "s3://" not in command):
        result = CliRunner().invoke(app, shlex.split(command))
        assert result.exit_code == 0, result.output
    exec(compile(columns, "data.md", "exec"), variables)
    assert "topic" in capsys.readouterr().out
    exec(compile(in_parts, "data.md", "exec"), variables)
    assert variables["parts"]["id"].to_pylist() == [71, 72, 73, 74]
    endpoints = f'endpoint="{service.endpoints.jobs}", stream_endpoint="{service.endpoints.stream}"'
    in_memory = in_memory.replace('endpoint="tcp://127.0.0.1:5555"', endpoints)
    run_example(in_memory, service, variables)
    assert len(variables["results"]) == len(variables["table"]) == 4
    assert [line.split(",")[0] for line in (tmp_path / "rated.csv").read_text().splitlines()] == ["id", "71", "72"]


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_and_options_exist(line: str) -> None:
    _, command, *words = shlex.split(line)
    shown = CliRunner(env={"COLUMNS": "80"}).invoke(app, [command, "--help"])
    assert shown.exit_code == 0, shown.output
    for option in (word for word in words if word.startswith("--")):
        assert re.search(rf"{option}\b", shown.output), f"{option} is not an option of {command}"
