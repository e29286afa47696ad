"""Runs `cactus batch`: with a client of the service, shown progress, and an end by a signal."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from cactus_actors.cli import shared_options as shared
from cactus_actors.cli.batch_progress import PassLog, shown_progress, shown_second_pass
from cactus_actors.cli.interrupts import interruptible
from cactus_actors.config import ServeConfig
from cactus_actors.process.batch_scheduling import schedule_as_batch, schedule_as_usual
from cactus_actors.protocol.errors import InvalidRequest

ON_RAY = "On a Ray cluster"
"""Heading in the help."""

if TYPE_CHECKING:
    from cactus_actors.batch import BatchProgress, BatchRequest, SecondPassProgress, SecondPassReport
    from cactus_actors.batch.batch_request import Observer
    from cactus_actors.batch.preview import RunEstimate
    from cactus_actors.client import AsyncClient
    from cactus_actors.data.parts import PartsReport, PartsRequest
    from cactus_actors.data.table_request import TableReport, TableRequest


class Place(NamedTuple):
    """Where lines are answered: by a service, and with `ray` on a cluster, or there by engines of a model."""

    endpoint: str
    stream_endpoint: str | None
    key_file: str | None
    ray: str | None
    engine: str | None
    engine_threads: int
    num_actors: int | None


def check_ray_options(
    table: TableRequest | PartsRequest | None,
    ray: str | None,
    engine: str | None,
    *,
    estimates: bool,
    has_model: bool,
) -> None:
    """Raise InvalidRequest for options that do not fit each other, and ConfigurationInvalid if Ray Data is missing."""
    if engine is not None and has_model:
        raise InvalidRequest("--model names a model of a service, and --engine has its own", param="model")
    if engine is not None and ray is None:
        raise InvalidRequest("--engine needs --ray; without it the running service is asked", param="engine")
    if ray is None:
        return
    from cactus_actors.data import require_ray_data
    from cactus_actors.data.parts import PartsRequest

    require_ray_data()
    if not isinstance(table, PartsRequest):
        raise InvalidRequest("--ray writes a table in parts: OUT ends with /", param="ray")
    if table.asks_cloud:
        raise InvalidRequest("the cloud's second pass needs --second-pass-model, or a run without --ray", param="ray")
    if engine is not None and (table.run.second_pass or estimates):
        what = "--estimate" if estimates else "a second pass"
        raise InvalidRequest(f"{what} asks a service, and --engine has none", param="engine")


class ShownRun:
    """One run; `progress` is the last one observed, None before the first line.

    `second_pass` is its outcome, `table` that of writing a table, and `parts` that of writing one in parts.
    """

    def __init__(
        self,
        request: BatchRequest,
        table: TableRequest | PartsRequest | None,
        place: Place,
    ) -> None:
        self.request = request
        self._table_request = table
        self._place = place
        self.progress: BatchProgress | None = None
        self.second_pass: SecondPassReport | None = None
        self.table: TableReport | None = None
        self.parts: PartsReport | None = None
        self._pass_progress: SecondPassProgress | None = None

    async def run(self) -> BatchProgress:
        """Run to the end; raises Interrupted after a signal, when the jobs in flight are cancelled.

        It does not interrupt a service on its machine for each result: it reads several of them a little later.
        """
        if self._place.ray is None:
            schedule_as_batch()
        try:
            return await interruptible(self._work(), print_how_to_resume)
        finally:
            schedule_as_usual()

    async def estimate(self) -> RunEstimate:
        """Ask a sample of the lines; raises Interrupted after a signal."""
        from cactus_actors.batch.preview import estimate

        async with self._client() as client:
            return await interruptible(estimate(self.request, client), print_how_to_resume)

    def _client(self) -> AsyncClient:
        from cactus_actors.client import AsyncClient

        place = self._place
        return AsyncClient(
            place.endpoint, place.stream_endpoint, timeout=shared.FIRST_ANSWER_S, key_file=place.key_file
        )

    async def _work(self) -> BatchProgress:
        from cactus_actors.batch import run_batch, run_second_pass

        if self._table_request is not None:
            self._table_request.check()
        table, parts = self._tables()
        name = Path(str(self.request.source)).name
        async with self._client() as client:
            with shown_progress(name, sys.stderr) as show:

                def observe(progress: BatchProgress, *_: object) -> None:
                    self.progress = progress
                    show(progress)

                if parts is not None:
                    self.parts = await self._parts(parts, client, observe)
                    return self._last_progress
                progress = await run_batch(self.request, client, observe)
            if self.request.second_pass:
                with shown_second_pass(name, sys.stderr) as show_pass:

                    def observe_pass(progress: SecondPassProgress) -> None:
                        self._pass_progress = progress
                        show_pass(progress)

                    self.second_pass = await run_second_pass(self.request, client, observe_pass)
            if table is not None:
                self.table = await table.write()
            return progress

    def _tables(self) -> tuple[TableRequest | None, PartsRequest | None]:
        """The request as one for a table, or for one in parts."""
        if self._table_request is None:  # a prompt file needs no pyarrow
            return None, None
        from cactus_actors.data.table_request import TableRequest

        if isinstance(self._table_request, TableRequest):
            return self._table_request, None
        return None, self._table_request

    async def _parts(self, table: PartsRequest, client: AsyncClient, observe: Observer) -> PartsReport:
        """Answer a table in parts, here or on a Ray cluster."""
        place = self._place
        if place.ray is None:
            return await table.answer(client, observe, PassLog(table.target, _print_notice).observe)
        from cactus_actors.placement.ray.ray_environment import prepare_environment

        prepare_environment(ServeConfig().state_dir.expanduser())
        from cactus_actors.ray_data.places import EnginePlace, Pool, ServicePlace
        from cactus_actors.ray_data.ray_run import answer_on_ray
        from cactus_actors.sdk.engine_choice import EngineChoice

        where: ServicePlace | EnginePlace
        if place.engine is None:
            model = (await client.status()).model_names
            where = ServicePlace(
                endpoint=client.jobs_endpoint, stream_endpoint=client.stream_endpoint, key_file=place.key_file
            )
        else:
            model = place.engine
            files = await asyncio.to_thread(_files_of_engine, model, place.ray)
            choice = EngineChoice(model=files, threads=place.engine_threads, max_sequences=None)
            where = EnginePlace(choice)
        pool = Pool(place=where, max_actors=place.num_actors)
        return await answer_on_ray(table, model, place.ray, pool, observe, _print_notice)

    @property
    def _last_progress(self) -> BatchProgress:
        assert self.progress is not None, "a run is observed at its start"
        return self.progress

    def so_far(self) -> str:
        """The number of finished lines, and how to continue."""
        if (asked := self._pass_progress) is not None:
            return (
                f"the second pass has {asked.num_done} of {asked.num_lines} lines, and "
                f"{self.request.output} the local answers; the same command with --resume continues"
            )
        if self.progress is None:
            return "nothing was run yet"
        return (
            f"{self.progress.num_done} of {self.progress.num_lines} lines are done; "
            "the same command with --resume continues"
        )


def _files_of_engine(model: str, ray_address: str) -> str:
    """The name by which all nodes find the files that this one has; raises ModelFileInvalid and Unavailable."""
    from cactus_actors.service.model_source import find_model

    return find_model(ServeConfig(model=model, ray_address=ray_address), _print_notice).model


def _print_notice(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # rich prints lines of sys.stderr above its bar


def print_how_to_resume() -> None:
    text = "interrupted: cancelling lines in flight and saving finished ones; a second signal ends immediately"
    # rich prints lines of sys.stderr above its bar; click would write into the bar
    print(typer.style(text, fg=typer.colors.YELLOW) if sys.stderr.isatty() else text, file=sys.stderr, flush=True)
