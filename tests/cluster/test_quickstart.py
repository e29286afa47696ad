"""The quickstart and the client of the protocol page work: Python runs, commands and options exist."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest
from typer.testing import CliRunner

from cactus_actors.cli.main import app
from tests.support.text.documents import page

QUICKSTART = page("guide/quickstart.md")
PYTHON_BLOCKS = re.findall(r"^```python\n(.*?)^```", QUICKSTART, re.M | re.S)
SMALL_CLIENT, *_ = re.findall(r"^```python\n(.*?)^```", page("reference/protocol.md"), re.M | re.S)
COMMANDS = sorted(set(re.findall(r"^    (cactus .*?)(?:  +#.*)?$", QUICKSTART, re.M)))


def test_the_python_runs(serve_locally: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert PYTHON_BLOCKS
    with serve_locally(workers=1) as running:
        for block in PYTHON_BLOCKS:
            code = block.replace('"tcp://127.0.0.1:5555"', f'"{running.endpoints.jobs}", "{running.endpoints.stream}"')
            assert code != block
            exec(compile(code, "quickstart.md", "exec"), {})
    assert "Paris" in capsys.readouterr().out


def test_the_small_client_of_the_protocol_page_runs(serve_locally: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with serve_locally(workers=1) as running:
        code = SMALL_CLIENT.replace("tcp://127.0.0.1:5555", running.endpoints.jobs)
        code = code.replace("tcp://127.0.0.1:5556", running.endpoints.stream)
        exec(compile(code, "protocol.md", "exec"), {})
    assert "Paris" in capsys.readouterr().out


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_and_options_exist(line: str) -> None:
    _, command, *words = shlex.split(line)
    shown = CliRunner(env={"COLUMNS": "80"}).invoke(app, [command, "--help"])
    assert shown.exit_code == 0, shown.output
    for option in (word for word in words if word.startswith("--")):
        assert re.search(rf"{option}\b", shown.output), f"{option} is not an option of {command}"
