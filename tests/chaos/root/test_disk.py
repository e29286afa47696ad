"""Disks that are full, or fail."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cactus_actors.client import AsyncClient
from cactus_actors.protocol.errors import StorageFailure
from tests.chaos.processes import Processes
from tests.scripted_router import ScriptedRouter

LONG = "x" * 20_000


async def test_on_a_full_disk_jobs_are_refused_and_what_was_accepted_ends(
    small_disk: Callable[[int], Path],
) -> None:
    disk = small_disk(512)
    processes = Processes(disk)
    try:
        async with AsyncClient(processes.jobs, processes.stream, timeout=120.0) as client:
            running = await client.submit("Tell me a story.", max_tokens=100, ignore_eos=True)
            with pytest.raises(StorageFailure, match="full"):
                await submit_for_ever(client)
            assert len((await client.result(running)).token_ids) == 100
            assert (await client.status()).jobs.failed == 0
    finally:
        processes.stop()


async def submit_for_ever(client: AsyncClient) -> None:
    while True:
        await client.submit("hello", stop=[LONG[:100]] * 30, max_tokens=1)


async def test_a_job_whose_sync_failed_was_not_accepted(tmp_path: Path, need: Callable[[str], None]) -> None:
    need("strace")
    trace = tmp_path / "trace"
    inject = "inject=fsync,fdatasync:error=EIO:when=12+"
    prefix = ["strace", "-f", "-q", "-o", str(trace), "-e", "trace=fsync,fdatasync", "-e", inject]
    processes = Processes(tmp_path, router_prefix=prefix, num_workers=0)
    accepted: list[str] = []
    refused = 0
    try:
        async with AsyncClient(processes.jobs, processes.stream) as client:
            for _ in range(24):
                try:
                    accepted.append(await client.submit("hello"))
                except StorageFailure:
                    refused += 1
    finally:
        processes.stop()
    assert refused
    assert accepted
    again = Processes(tmp_path, num_workers=0)
    try:
        async with AsyncClient(again.jobs, again.stream) as client:
            for job_id in accepted:
                await client.look(job_id)
    finally:
        again.stop()


def test_a_prompt_file_whose_output_disk_is_full_stops_and_goes_on_later(
    small_disk: Callable[[int], Path], tmp_path: Path
) -> None:
    disk = small_disk(64)
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text("\n".join(json.dumps(f"prompt {number}") for number in range(400)))
    with ScriptedRouter(num_tokens=40, step_s=0.0) as router:
        command = [
            sys.executable,
            "-m",
            "cactus_actors.cli.main",
            "batch",
            str(prompts),
            "-o",
            str(disk / "out.jsonl"),
        ]
        command += ["--resume", "--endpoint", router.endpoint, "--stream-endpoint", router.stream_endpoint]
        full = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert full.returncode == 74
        assert str(disk) in full.stderr
        subprocess.run(["mount", "-o", "remount,size=4m", str(disk)], check=True)
        time.sleep(0.1)
        rest = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert rest.returncode == 0, rest.stderr
    lines = [json.loads(line) for line in (disk / "out.jsonl").read_text().splitlines()]
    assert len({line["custom_id"] for line in lines}) == len(lines) == 400
