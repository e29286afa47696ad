"""Faults of the soak without the recovery from them; the checker must report a violation.

Most are injected with the recovery too, and then the guarantees hold.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from cactus_actors.client import AsyncClient
from cactus_actors.client.job_follower import JobFollower
from tests.chaos.soak.checker import violations
from tests.chaos.soak.history import History, read
from tests.chaos.soak.http_readers import HttpReader, Reading
from tests.chaos.soak.prompt_files import PromptFiles
from tests.chaos.soak.stage import staged
from tests.support.processes.bad_link import proxied
from tests.support.processes.separate_actors import Processes
from tests.support.processes.waiting import once_after, until, until_status
from tests.support.services.fake_worker_service import fake_worker_service

pytestmark = pytest.mark.chaos

NUM_WORDS = 200


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    processes = Processes(tmp_path_factory.mktemp("controls"))
    yield processes
    processes.stop()


def found_in(directory: Path) -> list[str]:
    return violations(read(directory / "history.jsonl"))


@pytest.mark.parametrize("resumes", [True, False])
async def test_a_reset_stream_that_is_not_resumed_is_a_violation(
    processes: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, resumes: bool
) -> None:
    if not resumes:  # and does not notice that it should
        monkeypatch.setattr(JobFollower, "_resume", lambda *_: None)
        monkeypatch.setattr(JobFollower, "_on_delta", lambda self, delta, _: self._emit(delta))
    async with (
        staged(tmp_path, processes.jobs, processes.stream) as stage,
        proxied(processes.stream) as stream,
        AsyncClient(processes.jobs, stream.endpoint, timeout=60.0) as client,
    ):
        await stage.reference.complete(1)
        await stage.witness("behind", client).stream(1, once_after(50, stream.reset))
    assert any("was shown item" in text for text in found_in(tmp_path)) is not resumes


@pytest.mark.parametrize("has_journal", [True, False])
async def test_a_result_lost_with_the_router_is_a_violation(tmp_path: Path, has_journal: bool) -> None:
    processes = Processes(tmp_path, has_journal=has_journal)
    try:
        async with staged(tmp_path, processes.jobs, processes.stream) as stage:
            witness = stage.witness("reader", stage.operator)
            prompt, options = witness.request(1)
            job = witness._invoke(1)
            async with witness._ending(job):
                await stage.operator.complete(prompt, job_id=job, **options)
                await asyncio.to_thread(processes.kill_router)
                witness._ok(job, await stage.operator.result(job))
    finally:
        processes.stop()
    assert any("failed with not_found_error" in text for text in found_in(tmp_path)) is not has_journal


@pytest.mark.parametrize("fault", ["kill", "hold"])
async def test_a_job_of_a_lost_worker_that_does_not_move_is_a_violation(tmp_path: Path, fault: str) -> None:
    """`test_workers.py` and `test_links.py` have the same faults with the recovery."""
    processes = Processes(tmp_path, num_workers=0, max_attempts=1)
    try:
        async with (
            staged(tmp_path, processes.jobs, processes.stream) as stage,
            proxied(processes.workers_endpoint) as link,
        ):
            processes.add_worker("far", endpoint=link.endpoint)
            await until_status(stage.operator, lambda status: len(status.workers) == 1)
            processes.add_worker("near")
            lose = link.hold if fault == "hold" else lambda: processes.kill_worker(0)
            await stage.witness("reader", stage.operator).stream(1, once_after(20, lose))
    finally:
        processes.stop()
    assert any("failed with server_error" in text for text in found_in(tmp_path))


@pytest.mark.parametrize("resumes", [True, False])
async def test_an_event_stream_that_restarts_after_a_break_is_a_violation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, resumes: bool
) -> None:
    take: Callable[[Any, str], Any] = Reading.take
    if not resumes:
        monkeypatch.setattr(Reading, "take", lambda self, line: line.startswith("id: ") or take(self, line))
    history = History(tmp_path / "history.jsonl")
    with fake_worker_service(tmp_path / "state", words=(" a",) * NUM_WORDS, step_s=0.005) as service:
        async with proxied(service.url) as link, httpx.AsyncClient() as http:
            url = link.endpoint.replace("tcp", "http")
            reader = HttpReader("reader", url, history, random.Random(1))
            await reader.stream(http, 8)  # as many tokens as there are
            reading = asyncio.create_task(reader.stream(http, 8))
            await asyncio.sleep(0.3)
            link.reset()
            await reading
    history.close()
    assert any("has another text" in text for text in found_in(tmp_path)) is not resumes


class Unresumed(PromptFiles):
    """Takes the results of one run as final."""

    async def _run_once(self, source: Path, output: Path) -> int:
        await super()._run_once(source, output)
        return 0


@pytest.mark.parametrize("kind", [PromptFiles, Unresumed])
async def test_a_killed_run_that_is_not_resumed_is_a_violation(
    processes: Processes, tmp_path: Path, kind: type[PromptFiles]
) -> None:
    history = History(tmp_path / "history.jsonl")
    files = kind(tmp_path, processes.jobs, processes.stream, history)
    running = asyncio.create_task(files._run_file(1))
    await until((tmp_path / "1.results.jsonl.journal").exists)
    files.kill()
    await running
    history.close()
    assert any("has answers []" in text for text in found_in(tmp_path)) is (kind is Unresumed)
