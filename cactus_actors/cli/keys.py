"""`cactus keys`: manages the CURVE keys of a service."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cactus_actors.cli.command import Command, Group
from cactus_actors.cli.shared_options import AsJson
from cactus_actors.cli.terminal import print_json, print_page
from cactus_actors.config import ServeConfig
from cactus_actors.keys.key_file import KEY_FILE_VARIABLE, Role
from cactus_actors.keys.key_store import KeyStore, KnownKey, keys_dir
from cactus_actors.protocol.key_grants import MAX_WEIGHT, KeyGrants

if TYPE_CHECKING:
    from rich.table import Table

keys = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    help="Keys for `cactus serve --curve`: make, list and revoke them.",
)

StateDir = Annotated[Path, typer.Option(help="The service's state directory; keys are in its folder `keys`.")]
STATE_DIR = ServeConfig().state_dir


@keys.command(cls=Command)
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the key; each name has one key.")],
    role: Annotated[
        Role,
        typer.Option(help="client: submit jobs; operator: also scale workers; worker: run jobs."),
    ] = "client",
    tenant: Annotated[
        str | None,
        typer.Option(help="Owner of its jobs; keys of a tenant see each other's jobs. NAME by default."),
    ] = None,
    weight: Annotated[
        int,
        typer.Option(help=f"Weight of its jobs when tenants share the tokens, 1 to {MAX_WEIGHT}."),
    ] = 1,
    no_cloud: Annotated[
        bool,
        typer.Option("--no-cloud", help="Never hand a job of the tenant to the cloud; one such key suffices."),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The key file; by default next to the service's keys."),
    ] = None,
    state_dir: StateDir = STATE_DIR,
) -> None:
    """Make a key and write its file, which its owner needs; a running service accepts it immediately.

    Example: cactus keys new alice --tenant research -o alice.key
    """
    grants = KeyGrants(weight=weight, allow_cloud=not no_cloud)
    path = KeyStore(keys_dir(state_dir)).add(name, role, tenant, path=output, grants=grants)
    typer.echo(f"{path} holds the secret key of {name}: move it to where it is used, readable by its user alone")
    if role == "worker":
        typer.echo("workers on other machines: put it at one path on each, cactus serve --worker-key-file PATH")
    else:
        typer.echo(f"used by: {KEY_FILE_VARIABLE}=PATH, --key-file PATH, or Client(..., key_file=PATH)")


@keys.command("list", cls=Command)
def list_keys(as_json: AsJson = False, state_dir: StateDir = STATE_DIR) -> None:
    """List the keys that the service accepts, with their public halves.

    Example: cactus keys list --json
    """
    known = KeyStore(keys_dir(state_dir)).known()
    if as_json:
        print_json(known)
        return
    if not known:
        typer.echo("no keys; make one: cactus keys new NAME")
        return
    print_page(_table(known))


def _table(known: Sequence[KnownKey]) -> Table:
    import time

    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("name", "role", "tenant", "weight", "cloud", "created", "public key"):
        table.add_column(heading, no_wrap=heading not in ("name", "tenant", "public key"), overflow="fold")
    for key in known:
        created = time.strftime("%Y-%m-%d", time.gmtime(key.created))
        cloud = "allowed" if key.allow_cloud else "never"
        row = (key.name, key.role, key.tenant, str(key.weight), cloud, created, key.public_key)
        table.add_row(*map(Text, row))
    return table


@keys.command(cls=Command)
def revoke(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name that `cactus keys list` shows.")],
    state_dir: StateDir = STATE_DIR,
) -> None:
    """Revoke a key; a running service refuses it within a second.

    Example: cactus keys revoke alice
    """
    revoked = KeyStore(keys_dir(state_dir)).revoke(name)
    typer.echo(f"{revoked.name} is not accepted any more")


@keys.command(cls=Command)
def server(state_dir: StateDir = STATE_DIR) -> None:
    """Print the service's public key; the key pair is made if there is none.

    Example: cactus keys server
    """
    typer.echo(KeyStore(keys_dir(state_dir)).make_server_pair().public)
