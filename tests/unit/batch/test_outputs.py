"""Output files: their location, locks on them, and full disks."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cactus_actors.batch import BatchProgress, BatchRequest, run_batch
from cactus_actors.batch import batch_runner as runner
from cactus_actors.batch.batch_errors import OutputFailed, OutputLocked, OutputRefused
from cactus_actors.batch.batch_output import BatchOutput
from cactus_actors.batch.paths import BatchPaths
from cactus_actors.client import AsyncClient
from cactus_actors.protocol.messages import Submit
from tests.support.router.batch_runs import names, records
from tests.support.router.scripted_router import ScriptedRouter, until


def test_a_second_run_on_the_same_output_is_refused(
    run: Callable[..., BatchProgress], router: ScriptedRouter, source: Path, tmp_path: Path
) -> None:
    router.pauses_at = 0
    environment = {"CACTUS_ENDPOINT": router.endpoint, "CACTUS_STREAM_ENDPOINT": router.stream_endpoint}
    command = [sys.executable, "-m", "cactus_actors.cli.main", "batch", str(source), "-o"]
    other = subprocess.Popen(
        [*command, str(tmp_path / "out.jsonl")], env=os.environ | environment, stdout=subprocess.DEVNULL
    )
    try:
        until(lambda: bool(router.received_of(Submit)))
        with pytest.raises(OutputLocked, match="output_locked"):
            run(resume=True)
        with pytest.raises(OutputLocked, match="output_locked"):
            run(overwrite=True)
    finally:
        other.kill()
        other.wait()
    router.pauses_at = None
    assert run(resume=True).num_done == 20  # the lock ended with the process


def test_a_symbolic_link_as_output_is_followed(run: Callable[..., BatchProgress], source: Path, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere" / "results.jsonl"
    target.parent.mkdir()
    (tmp_path / "out.jsonl").symlink_to(target)
    assert BatchPaths.of(source, tmp_path / "out.jsonl") == BatchPaths(source, target)
    assert run().num_succeeded == 20
    assert (tmp_path / "out.jsonl").is_symlink()
    assert len(target.read_bytes().splitlines()) == 20


async def test_a_run_cancelled_while_opening_its_files_releases_its_locks(
    router: ScriptedRouter, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This happens to a batch of the gateway, whose process lives on."""
    is_opening, may_open = threading.Event(), threading.Event()

    def open_slowly(paths: BatchPaths) -> BatchOutput:
        is_opening.set()
        assert may_open.wait(60)
        return BatchOutput(paths)

    monkeypatch.setattr(runner, "BatchOutput", open_slowly)
    request = BatchRequest(source=source, output=tmp_path / "out.jsonl", resume=True)
    async with AsyncClient(router.endpoint, router.stream_endpoint, timeout=30.0) as client:
        task = asyncio.create_task(run_batch(request, client))
        await asyncio.to_thread(is_opening.wait)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        may_open.set()
        monkeypatch.undo()
        async with asyncio.timeout(60):
            while not (tmp_path / "out.jsonl").exists():
                with contextlib.suppress(OutputLocked):  # until the thread has opened and closed them
                    await run_batch(request, client)
                await asyncio.sleep(0.01)
    assert len(records(tmp_path / "out.jsonl")) == 20


@pytest.mark.parametrize(
    "output",
    [
        "prompts.jsonl",
        "missing/out.jsonl",
        "directory",
        "link.jsonl",
        "fifo.jsonl",
        "x" * 250,
        "prompts.jsonl/out",
    ],
)
def test_unsuitable_outputs_are_refused(
    run: Callable[..., BatchProgress], source: Path, tmp_path: Path, output: str
) -> None:
    (tmp_path / "directory").mkdir()
    (tmp_path / "link.jsonl").symlink_to(source)
    os.mkfifo(tmp_path / "fifo.jsonl")
    before = source.read_bytes()
    for changes in ({}, {"overwrite": True}, {"resume": True}):
        with pytest.raises(OutputRefused):
            run(output=tmp_path / output, **changes)
    with pytest.raises(OutputRefused, match="is a directory"):
        run(output=Path())
    assert source.read_bytes() == before
    assert names(tmp_path) == {"directory", "link.jsonl", "fifo.jsonl"}


@pytest.mark.parametrize("room", [0, 100, 5000, 9000])
def test_a_full_disk_stops_the_run_and_loses_nothing(
    run: Callable[..., BatchProgress], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    write = os.pwrite

    def write_until_full(descriptor: int, content: Any, offset: int) -> int:
        """Behave as a full disk: first a short write, then no more."""
        nonlocal room
        if Path(f"/proc/self/fd/{descriptor}").readlink().suffix != ".partial":
            return write(descriptor, content, offset)
        if room == 0:
            raise OSError(28, os.strerror(28))
        written = write(descriptor, bytes(content)[:room], offset)
        room -= written
        return written

    monkeypatch.setattr(os, "pwrite", write_until_full)
    with pytest.raises(OutputFailed, match=r"out.jsonl.partial: No space left on device after \d+ bytes"):
        run()
    monkeypatch.undo()
    partial = (tmp_path / "out.jsonl.partial").read_bytes()
    assert not partial or partial.endswith(b"\n")
    assert run(resume=True).num_done == 20
    assert (tmp_path / "out.jsonl").read_bytes().startswith(partial)


def test_short_writes_are_completed(
    run: Callable[..., BatchProgress], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda descriptor, content, offset: write(descriptor, bytes(content)[:7], offset))
    run()
    monkeypatch.undo()
    assert len(records(tmp_path / "out.jsonl")) == 20
