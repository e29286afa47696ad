"""A client starts with the few libraries that it uses: the others would take most of the time of a short command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.router.scripted_router import ScriptedRouter

HEAVY = {
    "PIL", "huggingface_hub", "jinja2", "litestar", "llguidance", "llvmlite", "numba", "numpy", "pydantic",
    "ray", "rich.console", "tokenizers",
}  # fmt: skip
COMMAND = """
import sys
from cactus_actors.cli.__main__ import main
sys.argv[1:] = {arguments!r}
try:
    main()
finally:
    print(*sys.modules, file=sys.stderr)
"""


def loaded_by(program: str, router: ScriptedRouter) -> tuple[str, set[str]]:
    """The output of a Python program, and the heavy libraries among those that it writes to stderr."""
    environment = {**os.environ, "CACTUS_ENDPOINT": router.endpoint, "CACTUS_STREAM_ENDPOINT": router.stream_endpoint}
    command = [sys.executable, "-c", program]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment, check=True)
    modules = set(finished.stderr.split())
    assert "cactus_actors" in modules
    return finished.stdout, modules & HEAVY


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["complete", "hello"], "hello w1 w2 w3 w4\n"),
        (["complete", "hello", "--stream"], "hello w1 w2 w3 w4\n"),
        (["complete", "--help"], None),
        (["--help"], None),
        (["--version"], None),
    ],
)
def test_a_short_command_loads_no_heavy_library(
    router: ScriptedRouter, arguments: list[str], answer: str | None
) -> None:
    output, heavy = loaded_by(COMMAND.format(arguments=arguments), router)
    assert heavy == set()
    assert output if answer is None else output == answer


def test_a_prompt_file_loads_no_heavy_library(router: ScriptedRouter, tmp_path: Path) -> None:
    (tmp_path / "prompts.txt").write_text("hello\n")
    arguments = ["batch", str(tmp_path / "prompts.txt"), "-o", str(tmp_path / "results.jsonl")]
    assert loaded_by(COMMAND.format(arguments=arguments), router)[1] == set()
    assert "hello w1 w2 w3 w4" in (tmp_path / "results.jsonl").read_text()


def test_a_client_loads_no_heavy_library(router: ScriptedRouter) -> None:
    program = f"""
import sys
from cactus_actors import Client
with Client({router.endpoint!r}, {router.stream_endpoint!r}) as client:
    print(client.complete("hello").text)
print(*sys.modules, file=sys.stderr)
"""
    assert loaded_by(program, router) == ("hello w1 w2 w3 w4\n", set())


def test_a_command_ends_without_an_examination_of_all_objects() -> None:
    code = (
        "import atexit, gc, sys\n"
        "atexit.register(lambda: print(gc.get_freeze_count() > 0, gc.get_stats()[2]['collections']))\n"
        "from cactus_actors.cli.__main__ import main\n"
        "sys.argv = ['cactus', '--version']\n"
        "main()\n"
    )
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert shown.splitlines()[-1] == "True 0"
