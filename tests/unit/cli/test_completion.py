"""The shell's completion, by its protocol: words in the environment, completions on stdout."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer.testing

from cactus_actors.cli.main import app
from cactus_actors.models.catalog import list_models

CACTUS = Path(sys.executable).with_name("cactus")
IN_BASH = """
eval "$("$CACTUS" --show-completion bash)"
COMP_WORDS=(cactus warm cactus-s)
COMP_CWORD=2
_cactus_completion "$CACTUS"
echo "${COMPREPLY[@]}"
"""


def completed(*words: str) -> list[str]:
    """The completions of the last word."""
    environment = {
        "_CACTUS_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(["cactus", *words]),
        "COMP_CWORD": str(len(words)),
    }
    return typer.testing.CliRunner().invoke(app, prog_name="cactus", env=environment).stdout.split()


def test_commands_and_subcommands_are_completed() -> None:
    assert set(completed("s")) == {"scale", "serve", "status"}
    assert set(completed("keys", "")) == {"new", "list", "revoke", "server"}


def test_options_and_their_values_are_completed() -> None:
    assert completed("serve", "--wei") == ["--weights"]
    assert completed("serve", "--weights", "int") == ["int8", "int4"]


@pytest.mark.parametrize(
    "words", [["serve", "--model"], ["warm"], ["quantize"], ["bench", "--model"]], ids=lambda words: words[0]
)
def test_models_are_completed(words: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    snapshot = tmp_path / "models--owner--tiny" / "snapshots" / ("0" * 40)
    snapshot.mkdir(parents=True)
    (tmp_path / "models--owner--tiny" / "refs").mkdir()
    (tmp_path / "models--owner--tiny" / "refs" / "main").write_text("0" * 40)
    (snapshot / "model.gguf").write_bytes(b"GGUF")
    assert completed(*words, "cactus-") == [*list_models()]
    assert completed(*words, "own") == ["owner/tiny:model.gguf"]
    assert completed(*words, "./") == []  # the shell completes files


def test_bash_completes_by_the_script_that_the_command_prints() -> None:
    environment = {**os.environ, "CACTUS": str(CACTUS)}
    shell = subprocess.run(["bash", "-c", IN_BASH], env=environment, capture_output=True, text=True, check=True)
    assert shell.stdout.split() == [name for name in list_models() if name.startswith("cactus-s")]
