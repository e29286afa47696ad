"""A scripted router, and commands that run with it in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import typer.testing

from cactus_actors.cli.main import app
from tests.support.router.scripted_router import ScriptedRouter
from tests.support.text.read_integers import inexact_integers


@pytest.fixture
def router() -> Iterator[ScriptedRouter]:
    with ScriptedRouter() as router:
        yield router


@pytest.fixture
def cactus(
    router: ScriptedRouter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., typer.testing.Result]:
    """Run a command; integers in its JSON output must be exact for readers with float64 numbers.

    Its exceptions are raised here, or with `catches` are part of the result.
    """
    monkeypatch.setenv("CACTUS_ENDPOINT", router.endpoint)
    monkeypatch.setenv("CACTUS_STREAM_ENDPOINT", router.stream_endpoint)
    monkeypatch.setenv("CACTUS_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CACTUS_CLOUD_KEY", raising=False)
    monkeypatch.chdir(tmp_path)
    runner = typer.testing.CliRunner()

    def cactus(*arguments: str, input: str | bytes | None = None, catches: bool = False) -> typer.testing.Result:
        result = runner.invoke(app, arguments, input=input, catch_exceptions=catches)
        if "--json" in arguments:
            rounded = [inexact_integers(line) for line in result.stdout.splitlines()]
            assert [integers for integers in rounded if integers] == []
        return result

    return cactus
