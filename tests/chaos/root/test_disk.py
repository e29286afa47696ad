"""Full and failing disks."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest

from cactus_actors.client import AsyncClient
from cactus_actors.client.submit import new_job_id
from cactus_actors.protocol.errors import JobNotFound, StorageFailure
from tests.support.processes.separate_actors import Processes

LONG = "x" * 20_000


async def test_on_a_full_disk_new_jobs_are_refused_and_accepted_ones_end(
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
                await client.retrieve(job_id)
    finally:
        again.stop()


@pytest.mark.parametrize("goes_on", [False, True])
async def test_records_of_a_failed_sync_are_not_recovered_and_later_ones_are(
    tmp_path: Path, need: Callable[[str], None], goes_on: bool
) -> None:
    """The router is killed right after its refusal, or after it has accepted further jobs."""
    need("strace")
    trace = tmp_path / "trace"
    inject = "inject=fsync,fdatasync:error=EIO:when=12"
    prefix = ["strace", "-f", "-q", "-y", "-o", str(trace), "-e", "trace=fsync,fdatasync", "-e", inject]
    processes = Processes(tmp_path, router_prefix=prefix, num_workers=0)
    accepted: list[str] = []
    refused: list[str] = []
    num_later = 0
    try:
        async with AsyncClient(processes.jobs, processes.stream) as client:
            while num_later < 10 and (goes_on or not refused):
                job_id = new_job_id()
                try:
                    await client.submit("hello", job_id=job_id)
                except StorageFailure:
                    refused.append(job_id)
                    continue
                accepted.append(job_id)
                num_later += bool(refused)
    finally:
        processes.stop()
    (failed,) = [line for line in trace.read_text().splitlines() if "EIO" in line]
    assert "jobs.sqlite-wal" in failed
    assert refused
    again = Processes(tmp_path, num_workers=0)
    try:
        async with AsyncClient(again.jobs, again.stream) as client:
            for job_id in accepted:
                await client.retrieve(job_id)
            for job_id in refused:
                with pytest.raises(JobNotFound):
                    await client.retrieve(job_id)
    finally:
        again.stop()


async def test_on_a_full_disk_a_new_router_serves_results_and_accepts_jobs_once_there_is_space(
    small_disk: Callable[[int], Path],
) -> None:
    """The router is killed; the next one reads the journal on a disk without one free page."""
    disk = small_disk(2048)
    processes = Processes(disk)
    ballast = disk / "ballast"
    try:
        async with AsyncClient(processes.jobs, processes.stream, timeout=120.0) as client:
            first = await client.submit("Tell me a story.", max_tokens=5, seed=1, ignore_eos=True)
            result = await client.result(first)
            fill(ballast)
            processes.kill_router()
            fill(ballast)  # the space that the first file used in addition
            again = await client.result(first)
            assert (again.token_ids, again.text) == (result.token_ids, result.text)
            with pytest.raises(StorageFailure):
                await client.submit("hello", max_tokens=1)
            assert (await client.status()).storage_error
            ballast.unlink()
            for _ in range(600):
                if not (await client.status()).storage_error:
                    break
                await asyncio.sleep(0.1)
            later = await client.complete("hello", max_tokens=3, ignore_eos=True)
            assert later.usage.completion_tokens == 3
            processes.kill_router()
            assert (await client.result(first)).token_ids == result.token_ids
    finally:
        processes.stop()


def fill(ballast: Path) -> None:
    """Use all free space of the disk."""
    with contextlib.suppress(OSError), ballast.open("ab", buffering=0) as file:
        for size in (65_536, 4096, 512, 1):
            with contextlib.suppress(OSError):
                while True:
                    file.write(bytes(size))
