"""Runs `cactus batch`: with a client of the service, shown progress, and an end by a signal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from cactus_actors.cli import shared_options as shared
from cactus_actors.cli.batch_progress import shown_progress, shown_second_pass
from cactus_actors.cli.interrupts import interruptible

if TYPE_CHECKING:
    from cactus_actors.batch import BatchProgress, BatchRequest, SecondPassProgress, SecondPassReport
    from cactus_actors.batch.preview import RunEstimate
    from cactus_actors.client import AsyncClient
    from cactus_actors.data.parts import PartsReport, PartsRequest
    from cactus_actors.data.table_request import TableReport, TableRequest


class ShownRun:
    """One run; `progress` is the last one observed, None before the first line.

    `second_pass` is its outcome, `table` that of writing a table, and `parts` that of writing one in parts.
    """

    def __init__(
        self,
        request: BatchRequest,
        table: TableRequest | PartsRequest | None,
        endpoint: str,
        stream_endpoint: str | None,
        key_file: str | None,
    ) -> None:
        self.request = request
        self._table_request = table
        self._endpoint = endpoint
        self._stream_endpoint = stream_endpoint
        self._key_file = key_file
        self.progress: BatchProgress | None = None
        self.second_pass: SecondPassReport | None = None
        self.table: TableReport | None = None
        self.parts: PartsReport | None = None
        self._pass_progress: SecondPassProgress | None = None

    async def run(self) -> BatchProgress:
        """Run to the end; raises Interrupted after a signal, when the jobs in flight are cancelled."""
        return await interruptible(self._work(), print_how_to_resume)

    async def estimate(self) -> RunEstimate:
        """Ask a sample of the lines; raises Interrupted after a signal."""
        from cactus_actors.batch.preview import estimate

        async with self._client() as client:
            return await interruptible(estimate(self.request, client), print_how_to_resume)

    def _client(self) -> AsyncClient:
        from cactus_actors.client import AsyncClient

        return AsyncClient(
            self._endpoint, self._stream_endpoint, timeout=shared.FIRST_ANSWER_S, key_file=self._key_file
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
                    self.parts = await parts.answer(client, observe)
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


def print_how_to_resume() -> None:
    text = "interrupted: cancelling lines in flight and saving finished ones; a second signal ends immediately"
    # rich prints lines of sys.stderr above its bar; click would write into the bar
    print(typer.style(text, fg=typer.colors.YELLOW) if sys.stderr.isatty() else text, file=sys.stderr, flush=True)
