"""The programs accept every command line in the documents."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest
import typer

from cactus_actors.cli.main import app
from tests.support.paths import ROOT
from tests.support.text.documents import DOCUMENTS

SHELL_LINE = re.compile(r"^ {4,}(?:[A-Z_]+=\S+ )*(cactus|make|python -m [\w.]+)(?: (.*))?$")


def command_lines() -> list[tuple[str, str, str]]:
    """(document, program, arguments) of every indented line that starts one of our programs."""
    found = []
    for document in DOCUMENTS:
        text = document.read_text().replace("\\\n", " ")
        for line in text.splitlines():
            if match := SHELL_LINE.match(line):
                found.append((document.name, match[1], match[2] or ""))
    return found


LINES = command_lines()
CACTUS: Any = typer.main.get_command(app)


def test_commands_are_found() -> None:
    assert len([line for line in LINES if line[1] == "cactus"]) >= 20
    assert any(line[1] == "make" for line in LINES)


@pytest.mark.parametrize(("document", "arguments"), sorted({(d, a) for d, p, a in LINES if p == "cactus"}))
def test_cactus_accepts_the_documented_command(document: str, arguments: str) -> None:
    command = CACTUS
    words = shlex.split(arguments, comments=True)
    while subcommands := getattr(command, "commands", None):
        assert words
        assert words[0] in subcommands
        command, words = subcommands[words[0]], words[1:]
    parameters = command.params
    known = {spelling for parameter in parameters for spelling in [*parameter.opts, *parameter.secondary_opts]}
    options = [word.split("=")[0] for word in words if word.startswith("-") and word != "-"]
    assert [option for option in options if option not in known] == []


@pytest.mark.parametrize("target", sorted({a.split()[0] for _, p, a in LINES if p == "make" and a}))
def test_make_has_the_documented_target(target: str) -> None:
    assert re.search(rf"^{re.escape(target)}:", (ROOT / "Makefile").read_text(), re.M)


@pytest.mark.parametrize(
    ("module", "arguments"), sorted({(p.split()[-1], a) for _, p, a in LINES if p.startswith("python")})
)
def test_the_documented_module_exists_and_accepts_its_options(module: str, arguments: str) -> None:
    path = ROOT.joinpath(*module.split("."))
    source = path.with_suffix(".py") if path.with_suffix(".py").exists() else path / "__main__.py"
    text = source.read_text()
    for sibling in re.findall(rf"^from ({re.escape(module.rpartition('.')[0])}\.\w+) import", text, re.M):
        text += ROOT.joinpath(*sibling.split(".")).with_suffix(".py").read_text()
    for option in re.findall(r"(?<!\S)--[\w-]+", arguments):
        assert f'"{option}"' in text or f"{option[2:].replace('-', '_')}: Annotated[" in text, option
