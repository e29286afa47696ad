"""`cactus quantize`: packs a model's weights ahead of time."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from cactus_actors.cli.completion import model_names
from cactus_actors.config_models import DEFAULT_MODEL, WeightFormat
from cactus_actors.protocol.errors import ConfigurationInvalid


def quantize(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="Embedded model name, directory, GGUF file or hub id.", autocompletion=model_names
        ),
    ] = (DEFAULT_MODEL),
    mmproj: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="GGUF file of its encoder of pictures, if it is not next to it; or none."),
    ] = None,
    weights: Annotated[WeightFormat, typer.Option(help="The format to pack them in.")] = "int8",
) -> None:
    """Pack a model into the cache of packed models and print the file's path; an existing file is kept.

    Workers do the same when they first load a model. Size and time are written to stderr.

    Example: cactus quantize ./SmolLM2-135M --weights int4
    """
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    from cactus_actors.models.catalog import resolve_model
    from cactus_actors.models.mmproj_path import find_mmproj
    from cactus_actors.workers.loading.load_model import pack_model

    path = resolve_model(model)
    columns = (TextColumn("packing"), BarColumn(), DownloadColumn(binary_units=True), TimeRemainingColumn())
    started = time.monotonic()
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("packing", total=None)
        try:
            packed = pack_model(
                path,
                find_mmproj(path, mmproj),
                weights=weights,
                on_progress=lambda done, total: progress.update(task, completed=done, total=total),
            )
        except OSError as error:
            raise ConfigurationInvalid(
                f"the cache of packed models cannot be written: {error}; CACTUS_CACHE_DIR chooses another"
            ) from error
    megabytes = packed.path.stat().st_size / 1e6
    did = f"packed in {time.monotonic() - started:.1f} s" if packed.is_new else "packed already"
    typer.echo(f"{megabytes:.1f} MB {weights}, {did}", err=True)
    typer.echo(packed.path)
