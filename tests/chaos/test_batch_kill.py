"""kill -9 of `cactus batch` at any moment, then --resume: every line exactly once."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cactus_actors.protocol.messages import Submit
from tests.scripted_router import ScriptedRouter

NUM_LINES = 9

# Dies by SIGKILL at the n-th call that changes a file, before it or half-way through it.
KILLED_AT = """
import os, sys
calls, limit = 0, int(sys.argv.pop(1))
def dying(name):
    original = getattr(os, name)
    def call(*arguments, **more):
        global calls
        calls += 1
        if calls == limit:
            if name in ("write", "pwrite"):
                original(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2], *arguments[2:])
            os.kill(os.getpid(), 9)
        return original(*arguments, **more)
    setattr(os, name, call)
for name in ("write", "pwrite", "ftruncate", "fsync", "rename", "replace", "unlink"):
    dying(name)
from cactus_actors.cli.main import main
main()
"""


@pytest.fixture
def router() -> Iterator[ScriptedRouter]:
    with ScriptedRouter(num_tokens=3, step_s=0.001) as router:
        yield router


@pytest.fixture
def arguments(router: ScriptedRouter, tmp_path: Path) -> list[str]:
    lines = [json.dumps(f"prompt {number}") for number in range(NUM_LINES)]
    lines[4] = "malformed"
    (tmp_path / "prompts.jsonl").write_text("\n".join(lines))
    return [
        "batch",
        str(tmp_path / "prompts.jsonl"),
        "-o",
        str(tmp_path / "out.jsonl"),
        *("--resume", "--max-in-flight", "3"),
        *("--endpoint", router.endpoint, "--stream-endpoint", router.stream_endpoint),
    ]


def line_ids(path: Path) -> list[str]:
    return [json.loads(line)["custom_id"] for line in path.read_text().splitlines()]


def prompts_done(path: Path) -> set[str]:
    """The prompts of the whole lines in a partial output."""
    if not path.exists():
        return set()
    whole = [line for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]
    return {f"prompt {int(json.loads(line)['custom_id'].removeprefix('line-')) - 1}" for line in whole}


def check_each_line_once(directory: Path) -> None:
    assert sorted(path.name for path in directory.iterdir()) == [
        "out.errors.jsonl",
        "out.jsonl",
        "out.jsonl.journal",
        "prompts.jsonl",
    ]
    expected = {f"line-{number + 1}" for number in range(NUM_LINES)}
    assert line_ids(directory / "out.errors.jsonl") == ["line-5"]
    succeeded = line_ids(directory / "out.jsonl")
    assert sorted(succeeded) == sorted(expected - {"line-5"})


def resume(arguments: list[str]) -> None:
    finished = subprocess.run(
        [sys.executable, "-m", "cactus_actors.cli.main", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert finished.returncode == 1, finished.stderr  # one line is malformed


@pytest.mark.slow
def test_killed_at_every_change_of_a_file(
    arguments: list[str], router: ScriptedRouter, tmp_path: Path
) -> None:
    """One run that dies at its 1st, 2nd, 3rd... change, each time resumed by one that dies a little later."""
    for limit in range(1, 100):
        for path in tmp_path.glob("out*"):
            path.unlink()
        killed = subprocess.run(
            [sys.executable, "-c", KILLED_AT, str(limit), *arguments], capture_output=True, timeout=60
        )
        if killed.returncode == 1:
            break
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        final_exists = (tmp_path / "out.jsonl").exists()
        assert not final_exists or len(line_ids(tmp_path / "out.jsonl")) == NUM_LINES - 1
        done = prompts_done(tmp_path / "out.jsonl.partial")
        router.received.clear()
        resume(arguments)
        check_each_line_once(tmp_path)
        # what was written is not computed again
        submitted = {
            message.messages[0].content
            for message in router.received
            if isinstance(message, Submit) and message.messages
        }
        assert not submitted & done
    else:
        pytest.fail("the run never came to its end")
    assert limit > NUM_LINES


@pytest.mark.parametrize("limit", range(1, 6))
def test_an_overwrite_killed_as_it_begins_never_passes_old_results_for_new(
    arguments: list[str], tmp_path: Path, limit: int
) -> None:
    resume(arguments)
    finished = (tmp_path / "out.jsonl").read_bytes()
    source = tmp_path / "prompts.jsonl"
    source.write_text(source.read_text().replace("prompt", "changed"))
    again = [argument for argument in arguments if argument != "--resume"]
    killed = subprocess.run(
        [sys.executable, "-c", KILLED_AT, str(limit), *again, "--overwrite"], capture_output=True, timeout=60
    )
    assert killed.returncode == -signal.SIGKILL
    assert (tmp_path / "out.jsonl").read_bytes() == finished
    resumed = subprocess.run(
        [sys.executable, "-m", "cactus_actors.cli.main", *arguments], capture_output=True, timeout=60
    )
    if resumed.returncode == 66:
        assert (tmp_path / "out.jsonl").read_bytes() == finished
    else:
        assert resumed.returncode == 1
        check_each_line_once(tmp_path)
        assert b"prompt " not in (tmp_path / "out.jsonl").read_bytes()


@pytest.mark.slow
def test_killed_again_and_again_at_random(
    arguments: list[str], router: ScriptedRouter, tmp_path: Path
) -> None:
    router.step_s = 0.02
    chance = random.Random(20)
    for _ in range(12):
        process = subprocess.Popen(
            [sys.executable, "-m", "cactus_actors.cli.main", *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(chance.uniform(0.2, 0.5))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    resume(arguments)
    check_each_line_once(tmp_path)


def test_an_interrupted_run_says_how_to_go_on(
    arguments: list[str], router: ScriptedRouter, tmp_path: Path
) -> None:
    router.step_s = 0.2
    process = subprocess.Popen(
        [sys.executable, "-m", "cactus_actors.cli.main", *arguments],
        stderr=subprocess.PIPE,
        text=True,
        # a test run that itself was started in the background hands down an ignored SIGINT
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 20
    while not router.received_of(Submit):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "--resume" in stderr
    assert "Traceback" not in stderr
    router.step_s = 0.001
    resume(arguments)
    check_each_line_once(tmp_path)
