"""Servers under measurement: start, readiness, and the end of all their processes."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx

READY_WITHIN_S = 600.0
STOPPED_WITHIN_S = 60.0
POLL_S = 0.05


class ServerFailed(Exception):
    """A server ended before it was ready, or was not ready in time."""


def end_servers_on_signal() -> None:
    """Turn SIGTERM into an exception, so that this process ends the processes that it has started."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))


@dataclass(frozen=True)
class CactusService:
    """A running `cactus serve`; `ready_s` is the time from its start to its ready line."""

    pid: int
    jobs: str
    stream: str
    ready_s: float
    http: str = ""


@contextmanager
def cactus_serve(
    options: Sequence[str], checkout: Path, environment: dict[str, str] | None = None
) -> Iterator[CactusService]:
    """Run `cactus serve` with these options, on free ports, from the packages in `checkout`."""
    with tempfile.TemporaryDirectory() as state_dir:
        command = [sys.executable, "-m", "cactus_actors.cli.main", "serve", *options]
        command += ["--jobs-endpoint", "tcp://127.0.0.1:*", "--stream-endpoint", "tcp://127.0.0.1:*"]
        command += ["--state-dir", state_dir]
        started = time.perf_counter()
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(checkout.resolve()), **(environment or {})},
            cwd=checkout,
            text=True,
        )
        try:
            assert process.stdout is not None
            words = process.stdout.readline().split()
            if not words or words[0] != "ready":
                raise ServerFailed("cactus serve did not become ready; see the lines above")
            fields = dict(word.split("=", 1) for word in words[1:])
            ready_s = time.perf_counter() - started
            http = fields.get("http", "")
            yield CactusService(process.pid, fields["jobs"], fields["stream"], ready_s, http)
        finally:
            _stop(process)


@contextmanager
def llama_server(program: Path, model: Path, *, slots: int, context: int, threads: int) -> Iterator[str]:
    """Run llama.cpp's server with `slots` sequences of `context` tokens each; yields the root of its URLs.

    Prompts of ended requests are not copied aside (--cache-ram 0), which would cost it time here.
    """
    command = [str(program), "-m", str(model), "-np", str(slots), "-c", str(slots * context)]
    command += ["-t", str(threads), "-tb", str(threads), "--cache-ram", "0", "--no-ui", "--offline", "-lv", "1"]
    with _http_server(command, {}) as root:
        yield root


@contextmanager
def vllm_serve(python: str, model: Path, *, slots: int, context: int, environment: dict[str, str]) -> Iterator[str]:
    """Run vLLM's server of OpenAI's HTTP with `slots` sequences of `context` tokens; yields the root of its URLs."""
    command = [python, "-m", "vllm.entrypoints.openai.api_server", "--model", str(model), "--dtype", "bfloat16"]
    command += ["--max-num-seqs", str(slots), "--max-model-len", str(context)]
    command += ["--disable-log-stats", "--disable-uvicorn-access-log"]
    safe = {"PYTHONSAFEPATH": "1"}  # files of this folder are named like packages
    with _http_server(command, safe | environment) as root:
        yield root


@contextmanager
def _http_server(command: list[str], environment: dict[str, str]) -> Iterator[str]:
    """Run a server on a free port of this machine until it is healthy; yields the root of its URLs."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--port", str(port)],
        stdout=subprocess.DEVNULL,
        env={**os.environ, **environment},
        start_new_session=True,
    )
    root = f"http://127.0.0.1:{port}"
    try:
        _wait_healthy(process, f"{root}/health")
        yield root
    finally:
        _stop(process)
        with suppress(ProcessLookupError):  # it may have processes of its own, such as vLLM's engine
            os.killpg(process.pid, signal.SIGKILL)


def _wait_healthy(process: subprocess.Popen[bytes], url: str) -> None:
    deadline = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise ServerFailed(f"{process.args!r} ended with exit code {process.returncode}")
        try:
            if httpx.get(url).status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            pass
        time.sleep(POLL_S)
    raise ServerFailed(f"{url} did not become healthy in {READY_WITHIN_S:g} s")


def _stop(process: subprocess.Popen[bytes] | subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(timeout=STOPPED_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
