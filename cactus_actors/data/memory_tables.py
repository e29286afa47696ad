"""Answers the rows of tables in memory: of pandas, Polars, Arrow, or of other libraries that share Arrow's data."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cactus_actors.batch import BatchRequest, check_for_all, run_batch
from cactus_actors.batch.batch_request import DEFAULT_MAX_IN_FLIGHT
from cactus_actors.client import AsyncClient
from cactus_actors.client.background_loop import BackgroundLoop
from cactus_actors.client.submit import make_options
from cactus_actors.config import DEFAULT_JOBS_ENDPOINT
from cactus_actors.data.requirements import require_pyarrow
from cactus_actors.protocol.errors import InvalidRequest

if TYPE_CHECKING:
    from cactus_actors.data.table_request import TableRequest

_ROWS, _ANSWERS = "rows.arrow", "answers.arrow"


def map_rows(
    rows: Any,
    prompt_template: str | None = None,
    *,
    endpoint: str = DEFAULT_JOBS_ENDPOINT,
    stream_endpoint: str | None = None,
    key_file: str | None = None,
    system: str | None = None,
    columns: Sequence[str] | None = None,
    prefix: str = "",
    max_in_flight: int = DEFAULT_MAX_IN_FLIGHT,
    directory: Path | None = None,
    **options: Any,
) -> Any:
    """The rows with the columns of their answers, as a table of the same library; like `cactus batch`.

    A row without an answer has its `error`. `options` are those of requests; the properties of a `json_schema` are
    columns. With a `directory`, results so far are kept there, and the same call continues after an interruption;
    rows or options that differ raise InputChanged. Raises what a run raises, and InvalidRequest for other objects.
    """
    require_pyarrow()
    chosen = make_options(options)
    check_for_all(chosen, system)
    table = _as_arrow(rows)
    with contextlib.ExitStack() as stack:
        place = directory or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cactus-rows-")))
        place.mkdir(parents=True, exist_ok=True)
        import pyarrow as pa
        import pyarrow.feather as feather

        from cactus_actors.data.table_input import TableOptions
        from cactus_actors.data.table_request import table_request

        feather.write_feather(table, str(place / _ROWS), compression="uncompressed")
        wanted = TableOptions(
            inputs=[str(place / _ROWS)],
            output=str(place / _ANSWERS),
            template=prompt_template,
            columns=columns,
            prefix=prefix,
        )
        run = BatchRequest(
            source=place / _ROWS,
            output=place / _ANSWERS,
            options=chosen,
            system=system,
            max_in_flight=max_in_flight,
            resume=True,
            pictures=Path(),
        )
        request = table_request(wanted, run)
        loop = BackgroundLoop("cactus-rows")  # the caller may have a loop of its own, as notebooks do
        try:
            loop.run(_answered(request, AsyncClient(endpoint, stream_endpoint, key_file=key_file)))
        finally:
            loop.close(_nothing())
        with pa.OSFile(str(place / _ANSWERS)) as file:
            return _like(rows, pa.ipc.open_file(file).read_all())


async def _answered(request: TableRequest, client: AsyncClient) -> None:
    async with client:
        await run_batch(request.run, client)
    await request.write()


async def _nothing() -> None:
    pass


def _as_arrow(rows: Any) -> Any:
    import pyarrow as pa

    if isinstance(rows, pa.Table):
        return rows
    if not hasattr(rows, "__arrow_c_stream__"):
        kind = f"{type(rows).__module__}.{type(rows).__qualname__}"
        raise InvalidRequest(f"rows are a table of pandas, Polars or Arrow, not {kind}", param="rows")
    try:
        return pa.Table.from_pandas(rows, preserve_index=False) if _library(rows) == "pandas" else pa.table(rows)
    except (pa.ArrowException, ValueError) as error:
        raise InvalidRequest(f"rows cannot be read as a table: {str(error).splitlines()[0]}", param="rows") from None


def _like(rows: Any, table: Any) -> Any:
    """The table as one of the library of `rows`; a data frame of pandas keeps its index."""
    match _library(rows):
        case "pandas":
            return table.to_pandas().set_index(rows.index)
        case "polars":
            return import_module("polars").from_arrow(table)
    return table


def _library(rows: Any) -> str:
    return type(rows).__module__.partition(".")[0]
