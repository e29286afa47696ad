"""Workers that die, stop, hang or compute NaN: streams continue with the same tokens on another worker."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from cactus_actors.models.catalog import resolve_model
from cactus_actors.protocol.errors import ModelFailure, PoisonJob
from cactus_actors.protocol.messages import Status
from cactus_actors.protocol.service_status import WorkerStatus
from tests.chaos.soak.stage import Stage, staged
from tests.support.processes import faulty_worker as faulty_worker
from tests.support.processes.faulty_worker import DIES, HANGS_ONCE, IS_NOT_FINITE, RAISES, SLEEPS_ONCE
from tests.support.processes.separate_actors import Processes
from tests.support.processes.waiting import Pauses, once_after, until, until_status

pytestmark = pytest.mark.chaos

HARDLY_S, MISSED_WITHIN_S = 1.0, 30.0
"""A worker is declared lost after 3 s of silence; the rest is allowance for a busy machine."""


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    """A router, and workers that each test adds."""
    directory = tmp_path_factory.mktemp("workers")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(faulty_worker.ARMED_FAULTS_VARIABLE, str(directory))
        processes = Processes(directory, num_workers=0)
        yield processes
        processes.stop()


@pytest.fixture
def armed() -> Path:
    return faulty_worker.armed_faults()


@pytest.fixture
async def stage(processes: Processes, tmp_path: Path) -> AsyncIterator[Stage]:
    """Two fresh workers; no fault has been triggered."""
    async with staged(tmp_path, processes.jobs, processes.stream) as stage:
        await two_workers(processes, stage)
        yield stage


async def two_workers(processes: Processes, stage: Stage) -> Status:
    """Start missing workers up to two, and wait for them."""
    workers = [worker for worker in processes.workers if worker.poll() is None]
    for _ in range(2 - len(workers)):
        processes.add_worker(f"w{len(processes.workers)}", program=faulty_worker.PROGRAM)
    return await until_status(stage.operator, lambda status: len(status.workers) == 2)


async def busiest(stage: Stage) -> WorkerStatus:
    return max((await stage.operator.status()).workers, key=lambda worker: worker.num_running)


async def test_a_killed_idle_worker_is_removed_within_seconds_and_no_job_fails(
    processes: Processes, stage: Stage
) -> None:
    await stage.reference.complete(1)
    victim = (await stage.operator.status()).workers[0]
    os.kill(victim.pid, signal.SIGKILL)
    killed_at = time.monotonic()
    jobs = asyncio.gather(*(stage.reference.complete(1) for _ in range(8)))
    await until_status(stage.operator, lambda status: len(status.workers) == 1)
    print(f"gone after {time.monotonic() - killed_at:.1f} s")
    assert time.monotonic() - killed_at < MISSED_WITHIN_S
    await jobs
    status = await stage.judge()
    assert status.jobs.failed == 0


async def test_a_worker_killed_during_four_streams_changes_no_token(processes: Processes, stage: Stage) -> None:
    for number in range(4):
        await stage.reference.complete(number)
    killed: list[str] = []

    async def kill_busiest(length: int) -> None:
        if length >= 20 and not killed:
            victim = await busiest(stage)
            killed.append(victim.worker_id)
            os.kill(victim.pid, signal.SIGKILL)

    readers = [stage.witness(f"reader {number}", stage.operator) for number in range(4)]
    results = await asyncio.gather(*(reader.stream(number, kill_busiest) for number, reader in enumerate(readers)))
    status = await stage.judge()
    assert status.jobs.failed == 0
    attempts = sorted(result.attempts for result in results if result is not None)
    assert len(attempts) == 4
    assert attempts[-1] == 2
    assert status.jobs.redispatched >= attempts.count(2) >= 1


async def test_a_worker_killed_during_a_prefill_changes_no_token(processes: Processes, stage: Stage) -> None:
    prompt = "the quick brown fox jumps over the lazy dog and goes home " * 55  # a prefill of some 700 tokens

    def long(number: int) -> tuple[str, dict[str, object]]:
        return prompt, {"seed": number, "max_tokens": 40, "ignore_eos": True, "cache_salt": str(salt[0])}

    salt = [0]  # a different prompt each time, so that no prefix is cached
    reader = stage.witness("reader", stage.operator, long)
    await reader.complete(100)
    lengths: list[int] = []

    async def note(length: int) -> None:
        lengths.append(length)

    while True:
        salt[0] += 1
        assert salt[0] < 50
        lengths.clear()
        reading = asyncio.create_task(reader.stream(100, note))
        running: list[WorkerStatus] = []
        while not (running or reading.done()):
            running = [worker for worker in (await stage.operator.status()).workers if worker.num_running]
        if running and not lengths:
            break
        await reading  # the kill came too late
    os.kill(running[0].pid, signal.SIGKILL)
    result = await reading
    assert result is not None
    assert result.attempts == 2
    await stage.judge()


async def test_a_stopped_worker_is_detected_and_its_late_messages_are_ignored(
    processes: Processes, stage: Stage
) -> None:
    for number in range(4):
        await stage.reference.complete(number)
    stopped: list[WorkerStatus] = []

    async def stop_busiest() -> None:
        stopped.append(await busiest(stage))
        os.kill(stopped[0].pid, signal.SIGSTOP)
        asyncio.get_running_loop().call_later(10.0, os.kill, stopped[0].pid, signal.SIGCONT)

    stopped_at = time.monotonic()
    await check_streams_move_on(stage, stop_busiest)
    await asyncio.sleep(max(0.0, stopped_at + 11.0 - time.monotonic()))
    await until_status(stage.operator, lambda status: len(status.workers) == 2)
    await asyncio.gather(*(stage.reference.stream(number) for number in range(4)))
    status = await stage.judge()
    assert status.jobs.failed == 0
    assert stopped[0].worker_id in {worker.worker_id for worker in status.workers}


async def check_streams_move_on(stage: Stage, fault: Callable[[], Awaitable[None]]) -> None:
    """Four streams on two workers, one of which stops replying: some streams pause, none longer than the detection
    time.
    """
    pauses = Pauses()
    is_made = False

    async def read(number: int) -> None:
        reader = f"reader {number}"

        async def on_length(length: int) -> None:
            nonlocal is_made
            pauses.note(reader)
            if length >= 20 and not is_made:
                is_made = True
                await fault()

        result = await stage.witness(reader, stage.operator).stream(number, on_length)
        assert result is not None

    await asyncio.gather(*(read(number) for number in range(4)))
    print(f"the longest pause of a stream: {pauses.longest:.1f} s")
    assert HARDLY_S < pauses.longest < MISSED_WITHIN_S


@pytest.mark.parametrize(("token", "fault"), [(HANGS_ONCE, "hang"), (SLEEPS_ONCE, "sleep")])
async def test_a_worker_that_hangs_in_a_step_is_detected_though_its_sockets_reply(
    processes: Processes, stage: Stage, armed: Path, token: int, fault: str
) -> None:
    for number in range(4):
        await stage.reference.complete(number)
    (armed / fault).touch()
    jobs: list[str] = []

    async def spring() -> None:
        jobs.append(await stage.operator.submit([token, 5, 6], max_tokens=4, ignore_eos=True))

    await check_streams_move_on(stage, spring)
    assert not (armed / fault).exists()
    assert len((await stage.operator.result(jobs[0])).token_ids) == 4
    status = await until_status(stage.operator, lambda status: len(status.workers) == 1)
    for worker in processes.workers:
        if worker.pid not in {seen.pid for seen in status.workers}:
            worker.kill()  # it would never leave by itself
            worker.wait()
    await stage.judge()


async def test_a_job_that_kills_every_worker_ends_as_poison_job_and_other_jobs_survive(
    processes: Processes, stage: Stage
) -> None:
    await stage.reference.complete(1)
    before = (await stage.operator.status()).jobs
    neighbours = asyncio.gather(*(stage.reference.stream(1) for _ in range(4)))
    poison = asyncio.create_task(stage.operator.complete([DIES, 5, 6], max_tokens=4))
    num_workers = 2
    while not poison.done():
        await asyncio.sleep(0.2)
        alive = sum(worker.poll() is None for worker in processes.workers)
        for _ in range(2 - alive):  # as the fleet would do
            processes.add_worker(f"w{len(processes.workers)}", program=faulty_worker.PROGRAM)
            num_workers += 1
    with pytest.raises(PoisonJob, match="3 times the worker that ran it was lost"):
        await poison
    assert all(result is not None for result in await neighbours)
    status = await stage.judge()
    assert num_workers - 2 <= 3  # it cost no more than its attempts
    assert status.jobs.failed - before.failed == 1


@pytest.mark.parametrize("token", [RAISES, IS_NOT_FINITE])
async def test_a_failing_step_ends_only_its_job_and_no_worker(processes: Processes, stage: Stage, token: int) -> None:
    await stage.reference.complete(1)
    before = await stage.operator.status()
    others = asyncio.gather(*(stage.reference.stream(1) for _ in range(4)))
    for _ in range(3):
        with pytest.raises(ModelFailure):
            await stage.operator.complete([token, 5, 6], max_tokens=4)
    await others
    after = await stage.judge()
    assert {worker.pid for worker in after.workers} == {worker.pid for worker in before.workers}
    assert after.jobs.redispatched == before.jobs.redispatched
    assert after.jobs.failed - before.jobs.failed == 3


async def test_a_router_stopped_for_five_seconds_loses_no_worker(processes: Processes, stage: Stage) -> None:
    for number in range(8):
        await stage.reference.complete(number)
    before = (await stage.operator.status()).jobs
    readers = [stage.witness(f"reader {number}", stage.operator) for number in range(8)]

    def stop() -> None:
        os.kill(processes.router.pid, signal.SIGSTOP)
        asyncio.get_running_loop().call_later(5.0, os.kill, processes.router.pid, signal.SIGCONT)

    stop_once = once_after(20, stop)
    streams = asyncio.gather(*(reader.stream(number, stop_once) for number, reader in enumerate(readers)))
    await asyncio.sleep(1.0)
    asked_meanwhile = asyncio.gather(*(stage.reference.complete(number) for number in range(8)))
    await streams
    await asked_meanwhile
    after = (await stage.judge()).jobs
    assert after.accepted - before.accepted == 16  # for any number of requests
    assert after.failed == before.failed


OF_A_MODEL = """
import sys
from cactus_actors.config import WorkerSettings
from cactus_actors.workers.actor import WorkerActor
name, endpoint, _ = sys.argv[1:]
WorkerActor(WorkerSettings(worker_id=name, model="{model}")).run(endpoint)
"""


async def test_a_model_file_truncated_under_a_worker_ends_it_and_is_read_again_before_its_jobs_continue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    original, model = resolve_model("cactus-sprout"), tmp_path / "model"
    shutil.copytree(original, model)
    monkeypatch.setenv("CACTUS_CACHE_DIR", str(tmp_path / "cache"))
    processes = Processes(tmp_path, num_workers=0, has_journal=False)

    def start(name: str) -> subprocess.Popen[bytes]:
        processes.add_worker(name, program=OF_A_MODEL.format(model=model))
        return processes.workers[-1]

    def cut() -> None:
        (packed,) = tmp_path.glob("cache/packed/*.cactus")
        for file in (packed, model / "model.safetensors"):
            os.truncate(file, 4096)

    try:
        async with staged(tmp_path, processes.jobs, processes.stream) as stage:
            mapping = start("mapping")
            await stage.reference.complete(1)
            reading = asyncio.create_task(stage.reference.stream(1, once_after(20, cut)))
            await until(lambda: mapping.poll() is not None)
            assert mapping.returncode == -signal.SIGBUS
            refusing = start("refusing")
            await until(lambda: refusing.poll() is not None, 60.0)
            assert refusing.returncode == 1
            assert f"ModelFileInvalid: {model / 'model.safetensors'}: " in capfd.readouterr().err
            assert not reading.done()
            shutil.copy(original / "model.safetensors", model)
            start("again")
            result = await reading
            assert result is not None
            assert result.attempts == 2
            status = await stage.judge()
            assert status.jobs.failed == 0
    finally:
        processes.stop()
