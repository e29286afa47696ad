"""`cactus warm`: compiles kernels and packs weights ahead of the first start."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Annotated

import typer

from cactus_actors.cli.completion import model_names
from cactus_actors.cli.config_file import config_of
from cactus_actors.cli.setting_options import ConfigFile, KvCache, Mmproj, Speculation, Weights, numbers_of
from cactus_actors.cli.shared_options import AsJson
from cactus_actors.cli.terminal import print_json

if TYPE_CHECKING:
    from cactus_actors.fleet.start_phases import ShowPhase
    from cactus_actors.service.warming import WarmModel


def warm(
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="MODEL", help="Embedded model name, directory, GGUF file or hub id.", autocompletion=model_names
        ),
    ] = None,
    mmproj: Mmproj = None,
    weights: Weights = None,
    kv_cache: KvCache = None,
    speculation: Speculation = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Compile the kernels and pack the weights that a model needs, so that `cactus serve` starts at once.

    Without MODEL these are the models of --config, or the embedded one. Kernels depend on the processor, the format of
    the weights and that of the KV cache, not on the model; weights are packed for each model. What is there already is
    kept, and named.

    Example: cactus warm

    Example: cactus warm HuggingFaceTB/SmolLM2-135M-Instruct --weights int4

    Example: cactus warm --config cactus.toml
    """
    given = {"model": model, "mmproj": mmproj, "weights": weights, "kv_cache": kv_cache}
    flags = {name: value for name, value in given.items() if value is not None}
    settings = config_of(config, flags | numbers_of({"speculation": speculation}))
    from cactus_actors.service.model_configs import model_configs
    from cactus_actors.service.warming import warm_model

    for named in model_configs(settings):
        with _display() as show_phase:
            warmed = warm_model(named, _announce, show_phase)
        if as_json:
            print_json(warmed)
        else:
            typer.echo(_line(warmed))


def _line(warmed: WarmModel) -> str:
    what = f"{warmed.model}: {warmed.weights} weights, {warmed.kv_cache} KV cache, {warmed.kernels}"
    if warmed.was_ready:
        return f"{what}: everything is there already"
    packed = "packed" if warmed.was_packed else "packed already"
    compiled = "compiled" if warmed.was_compiled else "compiled already"
    return f"{what}: {packed} and {compiled} in {warmed.seconds:.1f} s"


def _announce(line: str) -> None:
    typer.echo(line, err=True)


def _display() -> AbstractContextManager[ShowPhase]:
    """Progress bars on a terminal, and a line for each phase elsewhere."""
    from contextlib import nullcontext

    from cactus_actors.fleet.start_phases import PhaseAnnouncer

    if not sys.stderr.isatty():
        return nullcontext(PhaseAnnouncer(_announce))
    from cactus_actors.cli.start_display import StartDisplay

    return StartDisplay()
