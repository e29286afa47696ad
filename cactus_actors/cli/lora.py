"""`cactus lora`: the LoRA adapters of a running service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cactus_actors.cli.command import Command, Group
from cactus_actors.cli.shared_options import FIRST_ANSWER_S, AsJson, Endpoint, KeyFile
from cactus_actors.cli.terminal import counted, print_json, wide_console
from cactus_actors.config import DEFAULT_JOBS_ENDPOINT

LOADED_S = 120.0
"""Seconds in which workers read an adapter."""

lora = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    help="LoRA adapters of a running service: load, unload and list them.",
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name that requests use.")]
Model = Annotated[str | None, typer.Option(metavar="NAME", help="The adapter's model, in a service of several.")]


@lora.command(cls=Command)
def load(
    name: Name,
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="A directory of PEFT or a GGUF file, on the workers' machines.")
    ],
    model: Model = None,
    as_json: AsJson = False,
    endpoint: Endpoint = DEFAULT_JOBS_ENDPOINT,
    key_file: KeyFile = None,
) -> None:
    """Load an adapter into every worker; later workers load it when they start.

    Example: cactus lora load poems ./poems-lora
    """
    from cactus_actors.client import Client

    with Client(endpoint, timeout=LOADED_S, key_file=key_file) as client:
        num_workers = client.load_adapter(name, str(path.expanduser().absolute()), model)
    if as_json:
        print_json({"name": name, "num_workers": num_workers})
    else:
        typer.echo(f"{name} is loaded by {counted(num_workers, 'worker')}")


@lora.command(cls=Command)
def unload(
    name: Name,
    model: Model = None,
    as_json: AsJson = False,
    endpoint: Endpoint = DEFAULT_JOBS_ENDPOINT,
    key_file: KeyFile = None,
) -> None:
    """Unload an adapter; jobs that have it finish on it.

    Example: cactus lora unload poems
    """
    from cactus_actors.client import Client

    with Client(endpoint, timeout=FIRST_ANSWER_S, key_file=key_file) as client:
        client.unload_adapter(name, model)
    if as_json:
        print_json({"name": name})
    else:
        typer.echo(f"{name} is unloaded")


@lora.command("list", cls=Command)
def list_adapters(
    as_json: AsJson = False, endpoint: Endpoint = DEFAULT_JOBS_ENDPOINT, key_file: KeyFile = None
) -> None:
    """List the adapters and, to operators, their files.

    Example: cactus lora list
    """
    from cactus_actors.client import Client

    with Client(endpoint, timeout=FIRST_ANSWER_S, key_file=key_file) as client:
        adapters = client.status().adapters
    if as_json:
        print_json({"adapters": adapters})
    elif adapters:
        for adapter in adapters:
            name = f"{adapter.model}:{adapter.name}" if adapter.model else adapter.name
            wide_console().print(f"{name}  {adapter.path}".rstrip(), highlight=False, markup=False)
    else:
        typer.echo("no adapter is loaded")
