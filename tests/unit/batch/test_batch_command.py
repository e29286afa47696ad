"""`cactus batch` as a process: exit codes and an interrupt."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.support.router.batch_runs import names
from tests.support.router.scripted_router import ScriptedRouter, until

MODULE = ("-m", "cactus_actors.cli.main")
WITHOUT_PYARROW = """
import runpy, sys
sys.modules["pyarrow"] = None
runpy.run_module("cactus_actors.cli.main", run_name="__main__")
"""


def command(
    router: ScriptedRouter, *arguments: str, program: tuple[str, str] = MODULE
) -> subprocess.CompletedProcess[str]:
    environment = {"CACTUS_ENDPOINT": router.endpoint, "CACTUS_STREAM_ENDPOINT": router.stream_endpoint}
    return subprocess.run(
        [sys.executable, *program, "batch", *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_batch_ends_with_the_documented_exit_codes(router: ScriptedRouter, source: Path, tmp_path: Path) -> None:
    arguments = (str(source), "-o", str(tmp_path / "out.jsonl"))
    wrong = command(router, *arguments, "--temperature", "9")
    assert (wrong.returncode, names(tmp_path)) == (2, set())
    assert command(router, *arguments).returncode == 0
    source.write_bytes(source.read_bytes() + b"not json\n")
    changed = command(router, *arguments, "--resume")
    assert changed.returncode == 66
    assert "input_changed" in changed.stderr
    other = command(router, *arguments, "--overwrite", "--max-tokens", "5")
    assert other.returncode == 1
    refused = command(router, *arguments, "--resume")
    assert refused.returncode == 2
    assert "--max-tokens was 5 and is not given now" in refused.stderr
    for how in ("--overwrite", "--resume"):
        failed = command(router, *arguments, how)
        assert failed.returncode == 1
        assert failed.stdout.startswith("20 of 21 lines done")
        assert "1 failed" in failed.stdout


def test_a_prompt_file_needs_no_pyarrow(router: ScriptedRouter, source: Path, tmp_path: Path) -> None:
    arguments = (str(source), "-o", str(tmp_path / "out.jsonl"))
    done = command(router, *arguments, program=("-c", WITHOUT_PYARROW))
    assert done.returncode == 0, done.stderr


def test_an_interrupt_prints_how_to_resume(router: ScriptedRouter, source: Path, tmp_path: Path) -> None:
    router.on_submit = lambda *_: None  # type: ignore[method-assign]
    environment = {"CACTUS_ENDPOINT": router.endpoint, "CACTUS_STREAM_ENDPOINT": router.stream_endpoint}
    arguments = ["batch", str(source), "-o", str(tmp_path / "out.jsonl")]
    with subprocess.Popen(
        [sys.executable, "-m", "cactus_actors.cli.main", *arguments],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as running:
        until(lambda: len(router.submitted()) == 20)
        running.send_signal(signal.SIGINT)
        _, told = running.communicate(timeout=60)
    assert running.returncode == 130
    first, last = told.splitlines()[-2:]
    assert first == "interrupted: cancelling lines in flight and saving finished ones; a second signal ends immediately"
    assert last == "interrupted; 0 of 20 lines are done; the same command with --resume continues"
