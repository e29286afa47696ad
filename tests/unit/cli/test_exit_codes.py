"""Exit codes and error lines."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from cactus_actors.cli.main import exit_code, main
from cactus_actors.protocol.errors import InvalidRequest, ModelFailure, ModelFileInvalid, Overloaded, Unavailable
from tests.support.processes.command_runs import run_main
from tests.support.router.scripted_router import ScriptedRouter


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidRequest("x"), 2),
        (ModelFileInvalid("x"), 2),
        (Unavailable("x"), 69),
        (Overloaded("x"), 69),
        (ModelFailure("x"), 1),
    ],
)
def test_errors_have_their_exit_codes(error: Exception, code: int) -> None:
    assert exit_code(error) == code  # type: ignore[arg-type]


def test_an_error_is_one_line_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["cactus", "status", "--endpoint", "nonsense"])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert re.fullmatch(r"error: 'nonsense' is not tcp://HOST:PORT.*\n", output.err)


def test_real_processes_print_one_error_line(tmp_path: Path) -> None:
    nowhere = {"CACTUS_ENDPOINT": "tcp://127.0.0.1:9"}
    for code, arguments in (
        (69, ["status"]),
        (66, ["batch", str(tmp_path / "missing.jsonl"), "-o", str(tmp_path / "out.jsonl")]),
        (2, ["complete", "hi", "--raw", "--system", "x"]),
    ):
        returncode, stdout, stderr = run_main(*arguments, environment=nowhere)
        assert (returncode, stdout) == (code, "")
        assert re.fullmatch(r"error: [^\n]+\n", stderr)


def test_a_full_disk_is_exit_code_74(router: ScriptedRouter, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("".join(f"prompt {number}\n" for number in range(40)))
    arguments = ["batch", str(tmp_path / "in.txt"), "-o", str(tmp_path / "out.jsonl"), "--resume"]
    endpoints = {"CACTUS_ENDPOINT": router.endpoint, "CACTUS_STREAM_ENDPOINT": router.stream_endpoint}
    limited = subprocess.run(
        [sys.executable, "-m", "cactus_actors.cli.main", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | endpoints,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000)),
    )
    assert limited.returncode == 74
    *_, so_far, error = limited.stderr.splitlines()
    assert re.fullmatch(r"[1-9]\d* of 40 lines are done; the same command with --resume continues", so_far)
    assert re.fullmatch(r"error: .*out\.jsonl\.partial: File too large after \d+ bytes", error)
    returncode, stdout, _ = run_main(*arguments, environment=endpoints)
    assert returncode == 0
    assert re.match(r"40 of 40 lines done .*, [1-9]\d* of them before", stdout)
