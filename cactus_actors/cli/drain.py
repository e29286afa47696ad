"""`cactus drain`: move the workers of a node to others, before the node ends."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from cactus_actors.cli.shared_options import FIRST_ANSWER_S, AsJson, Endpoint, KeyFile
from cactus_actors.cli.status_page import drained_node, num_local
from cactus_actors.cli.terminal import counted, print_json
from cactus_actors.config import DEFAULT_JOBS_ENDPOINT

if TYPE_CHECKING:
    from cactus_actors.client import Client
    from cactus_actors.protocol.messages import Status

LOOK_AGAIN_S = 0.2
JOBS_WAIT = "jobs wait, accepted ones on disk, until another node has room"


def drain(
    node: Annotated[str, typer.Argument(metavar="NODE", help="The node, as `cactus status` names it, or its id.")],
    within: Annotated[
        float | None,
        typer.Option(min=0.0, metavar="SECONDS", help="Leave in this time, even if no other node has room yet."),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until no worker is left, and print each change.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Let a drained node have workers again.")] = False,
    as_json: AsJson = False,
    endpoint: Endpoint = DEFAULT_JOBS_ENDPOINT,
    key_file: KeyFile = None,
) -> None:
    """Move the workers of a node of a cluster to other nodes; running jobs and streams continue there.

    Other nodes get workers first. Then those of the node give their jobs back, and stop. The node gets no worker until
    it is gone, or until --undo.

    Example: cactus drain node-2 --wait

    Example: cactus drain node-2 --undo
    """
    from cactus_actors.client import Client

    if undo and (within is not None or wait):
        raise typer.BadParameter("--undo takes no other option")
    with Client(endpoint, timeout=FIRST_ANSWER_S, key_file=key_file) as client:
        if undo:
            client.keep_node(node)
            num_workers = 0
        else:
            num_workers = client.drain_node(node, within)
        if as_json:
            print_json({"node": node, "num_workers": num_workers})
        elif undo:
            typer.echo(f"{node} may have workers again")
        else:
            hint = "" if wait else " (`cactus status` shows them; --wait: wait for them)"
            typer.echo(f"{counted(num_workers, 'worker')} of {node} will be replaced elsewhere{hint}")
            if until_then := _until_then(client.status(), node, within):
                typer.echo(until_then)
        if wait:
            _wait(client, node, is_quiet=as_json)


def _until_then(status: Status, node: str, within: float | None) -> str:
    """What happens as long as no worker runs on a node that stays; empty if one does."""
    leaving = {it.node_id for it in status.leaving_nodes}
    stay = [worker.node_id not in leaving for worker in status.workers if worker.kind == "local"]
    if not stay or any(stay):
        return ""
    if within is None:
        return f"no other node has a worker yet: until one has, those of {node} stay and take all jobs"
    return (
        f"no other node has a worker yet: if none has in {within:g} s, those of {node} leave all the same, and "
        f"{JOBS_WAIT}, or until `cactus drain {node} --undo`"
    )


def _wait(client: Client, node: str, *, is_quiet: bool) -> None:
    """Print what is left on the node, until nothing is, or it is not drained any more."""
    shown: str | None = None
    while True:
        status = client.status()
        left = [it for it in status.leaving_nodes if node in (it.node, it.node_id)]
        line = "; ".join(f"{it.node}: {counted(it.num_workers, 'worker')}" for it in left)
        if line != shown and not is_quiet:
            typer.echo("; ".join(map(drained_node, left)) or f"{node} is gone")
        if not any(it.num_workers for it in left):
            if left and not num_local(status) and not is_quiet:
                typer.echo(f"no other node has a worker: {JOBS_WAIT}, or until `cactus drain {node} --undo`")
            return
        shown = line
        time.sleep(LOOK_AGAIN_S)
