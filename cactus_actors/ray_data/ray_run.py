"""A run of `cactus batch --ray`: a process of its own drives the cluster, and this one records what it has done."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path

import msgspec

from cactus_actors.batch.batch_request import Observer
from cactus_actors.data.parts import PartsReport, PartsRequest
from cactus_actors.data.parts.parts_progress import PartsProgress
from cactus_actors.data.parts.parts_request import finished_report
from cactus_actors.protocol.errors import ServerFailure, Unavailable, error_from_info
from cactus_actors.ray_data.driver import PartsTask, drive
from cactus_actors.ray_data.part_reading import PartOutcome
from cactus_actors.ray_data.places import Pool


async def answer_on_ray(
    request: PartsRequest,
    model: str,
    ray_address: str,
    pool: Pool,
    observe: Observer,
    notify: Callable[[str], None] = lambda _: None,
) -> PartsReport:
    """Answer every row that is in no part yet, on the cluster at `ray_address`, which is joined before anything else.

    `model` is that of the answers; `notify` is told what the run waits for. `prepare_environment` must have been
    called. Cancelled, it kills the driver at once, with which Ray ends the actors: parts that are there stay, and the
    next run continues. Raises what a run raises, ConfigurationInvalid if the cluster would not require a token, and
    Unavailable if it does not answer or is lost.
    """
    async with _driver(ray_address) as driver:
        manifest = await asyncio.to_thread(request.manifest, model)
        with request.begun(manifest) as plan:
            progress = PartsProgress(plan, observe)
            driver.send(PartsTask(plan, pool, progress.settled))
            while (outcome := await driver.outcome()) is not None:
                if outcome.notice:
                    notify(outcome.notice)
                    continue
                assert outcome.part is not None, "an outcome is a part, an error or a notice"
                assert outcome.record is not None, "a part has its record"
                progress.add(outcome.part, outcome.record)
            if missing := {*plan.manifest.parts()} - plan.finished():
                raise ServerFailure(f"{len(missing)} parts were not written; the same command with --resume continues")
            return await asyncio.to_thread(finished_report, plan)


class _Driver:
    """The driver's process; what it prints is in the file `output`."""

    def __init__(self, process: SpawnProcess, connection: Connection, output: Path) -> None:
        self._process = process
        self._connection = connection
        self._output = output

    def send(self, task: PartsTask) -> None:
        with contextlib.suppress(ConnectionError):  # it has ended, and `outcome` says why
            self._connection.send(task)

    async def outcome(self) -> PartOutcome | None:
        """The next outcome, None after the last; raises an error of the run, and Unavailable if the process failed."""
        try:
            content = await asyncio.to_thread(self._connection.recv_bytes)
        except (EOFError, ConnectionError):
            await asyncio.to_thread(self._process.join)
            if status := self._process.exitcode:
                reason = self._last_line() or f"its driver ended with status {status}"
                raise Unavailable(f"the Ray cluster: {reason}") from None
            return None
        outcome = msgspec.json.decode(content, type=PartOutcome)
        if outcome.error is not None:
            raise error_from_info(outcome.error)
        return outcome

    def _last_line(self) -> str:
        lines = self._output.read_text(errors="replace").splitlines()
        return next((line.strip() for line in reversed(lines) if line.strip()), "")


@contextlib.asynccontextmanager
async def _driver(ray_address: str) -> AsyncIterator[_Driver]:
    """A driver that has joined the cluster; it is killed at the end of the context, unless it has ended."""
    spawning = get_context("spawn")
    mine, its = spawning.Pipe()
    with tempfile.NamedTemporaryFile(prefix="cactus-driver-") as output, mine:
        process = spawning.Process(target=drive, args=(ray_address, its, Path(output.name)), daemon=True)
        with _interrupts_blocked():
            process.start()
        its.close()
        try:
            driver = _Driver(process, mine, Path(output.name))
            await driver.outcome()
            yield driver
        finally:
            process.kill()
            process.join()


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Processes that start within the context get no Ctrl-C, which is meant for this one."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
