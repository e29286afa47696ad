"""`cactus serve` as users run it: a process, its ready line, and a signal to end it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cactus_actors.client import Client

CACTUS = [sys.executable, "-m", "cactus_actors.cli.main"]
ANY_PORT = "tcp://127.0.0.1:*"
STDERR = "stderr.txt"


@contextmanager
def serving(state_dir: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """A `cactus serve` process and the words of its ready line."""
    command = [*CACTUS, "serve", "--state-dir", str(state_dir), *options]
    command += ["--jobs-endpoint", ANY_PORT, "--stream-endpoint", ANY_PORT, "--http", "127.0.0.1:0"]
    with (
        (state_dir / STDERR).open("w") as stderr,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True) as process,
    ):
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().split()
        finally:
            if process.poll() is None:
                process.kill()


def ends_on_a_signal(process: subprocess.Popen[str], ready: list[str], number: signal.Signals) -> None:
    """Check the ready line, and that the service finishes accepted jobs before it stops."""
    first, *words = ready
    assert first == "ready"
    told = dict(word.split("=", 1) for word in words)
    assert told["workers"] == "1"
    with Client(told["jobs"], told["stream"], timeout=60.0) as client:
        job_id = client.submit(prompt="Tell me a story.", max_tokens=200, ignore_eos=True)
        process.send_signal(number)
        assert len(client.result(job_id).token_ids) == 200
    assert process.wait(timeout=60) == 0
    assert process.stdout is not None
    assert process.stdout.read().splitlines()[-1] == "stopped"


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_serve_prints_its_ready_line_and_stops_on_a_signal(
    place_options: list[str], tmp_path: Path, number: signal.Signals
) -> None:
    with serving(tmp_path, *place_options) as (process, ready):
        ends_on_a_signal(process, ready, number)


@pytest.mark.slow
@pytest.mark.parametrize("place", ["ray"], indirect=True)
def test_messages_of_ray_do_not_reach_standard_output(
    place_options: list[str], ray_address: str, tmp_path: Path
) -> None:
    from ray._private.utils import publish_error_to_driver
    from ray._raylet import GcsClient  # type: ignore[attr-defined]

    with serving(tmp_path, *place_options) as (process, (first, *_)):
        assert first == "ready"
        publish_error_to_driver("test", "a node is gone", gcs_client=GcsClient(ray_address))
        until = time.monotonic() + 60.0
        while "a node is gone" not in (tmp_path / STDERR).read_text():
            assert time.monotonic() < until
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        told, _ = process.communicate(timeout=60)
        assert [line.split(":")[0] for line in told.splitlines()] == ["stopping", "stopped"]


@pytest.mark.parametrize("placement", ["local", pytest.param("ray", marks=pytest.mark.slow)])
def test_a_second_service_with_the_port_or_the_directory_of_the_first_is_refused(
    tmp_path: Path, placement: str
) -> None:
    """Until the first has ended, however it ended."""
    with serving(tmp_path, "--placement", placement) as (process, ready):
        jobs = dict(word.split("=", 1) for word in ready[1:])["jobs"]
        line = refusal_of(tmp_path / "other", placement, jobs)
        assert jobs in line
        assert "in use" in line
        line = refusal_of(tmp_path, placement, ANY_PORT)
        assert f"process {process.pid} at {jobs}" in line
        assert "--state-dir" in line
        process.kill()
        process.wait(60)
        with serving(tmp_path, "--placement", placement) as (again, its_ready):
            ends_on_a_signal(again, its_ready, signal.SIGTERM)


def refusal_of(state_dir: Path, placement: str, jobs: str) -> str:
    """The one line that a service prints that does not start."""
    command = [*CACTUS, "serve", "--state-dir", str(state_dir), "--placement", placement, "--jobs-endpoint", jobs]
    command += ["--stream-endpoint", ANY_PORT, "--no-http"]
    refused = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (refused.returncode, refused.stdout) == (2, "")
    (line,) = refused.stderr.splitlines()
    return line
