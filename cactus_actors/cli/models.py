"""`cactus models`: lists models and families."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from cactus_actors.cli.shared_options import AsJson
from cactus_actors.cli.terminal import print_json, print_page

if TYPE_CHECKING:
    from rich.table import Table

    from cactus_actors.workers.families.family import Family

SOURCES = (
    "the name of an embedded model",
    "a directory with config.json, tokenizer.json and safetensors",
    "a GGUF file",
    "owner/name[@revision][:file.gguf] on the Hugging Face hub",
)


def models(as_json: AsJson = False) -> None:
    """List the models on this machine, and the families that can be loaded.

    Example: cactus models
    """
    from rich.padding import Padding

    from cactus_actors.models.catalog import list_models, resolve_model
    from cactus_actors.models.hub_cache import cached_models
    from cactus_actors.workers.families.registry import FAMILIES

    embedded = [(name, resolve_model(name)) for name in list_models()]
    cached = [(str(model), path) for model, path in cached_models()]
    if as_json:
        report = {
            "embedded": _records(embedded),
            "cached": _records(cached),
            "families": [
                {
                    "name": family.name,
                    "architectures": family.architectures,
                    "gguf_architectures": family.gguf_architectures,
                    "projector": family.mmproj.projector if family.mmproj else None,
                    "examples": family.examples,
                }
                for family in FAMILIES
            ],
            "sources": SOURCES,
        }
        print_json(report)
        return
    _print_sizes("embedded", embedded)
    _print_sizes("in the cache of the hub", cached)
    typer.echo("families:")
    print_page(Padding(_family_table(FAMILIES), (0, 0, 0, 2), expand=False))
    typer.echo("given with --model as:")
    for source in SOURCES:
        typer.echo(f"  {source}")


def _records(found: Iterable[tuple[str, Path]]) -> list[dict[str, object]]:
    return [{"name": name, "path": str(path), "bytes": _size(path)} for name, path in found]


def _print_sizes(heading: str, found: list[tuple[str, Path]]) -> None:
    typer.echo(f"{heading}:{'' if found else ' none'}")
    widest = max((len(name) for name, _ in found), default=0)
    for name, path in found:
        typer.echo(f"  {name:{widest}}  {_size(path) / 1e6:8.1f} MB")


def _family_table(families: Iterable[Family]) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("family", "in config.json", "in GGUF", "such as"):
        table.add_column(heading, overflow="fold")
    for family in families:
        table.add_row(
            family.name,
            ", ".join(family.architectures),
            ", ".join(_gguf_names(family)),
            family.examples,
        )
    return table


def _gguf_names(family: Family) -> tuple[str, ...]:
    from cactus_actors.models.mmproj_file import PROJECTORS

    if family.mmproj is None:
        return family.gguf_architectures
    return (
        *dict.fromkeys(family.gguf_architectures + PROJECTORS[family.mmproj.projector].text_architectures),
        "mmproj",
    )


def _size(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.iterdir() if file.is_file())
