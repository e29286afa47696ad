"""`cactus status`, `cactus scale` and `cactus restart`: inspect, scale and restart a running service."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from cactus_actors.cli.shared_options import FIRST_ANSWER_S, AsJson, Endpoint, KeyFile
from cactus_actors.cli.status_page import num_local, status_page, workers_summary
from cactus_actors.cli.terminal import counted, print_json, print_page, wide_console
from cactus_actors.config import DEFAULT_JOBS_ENDPOINT
from cactus_actors.config_scaling import MAX_WORKERS
from cactus_actors.protocol.errors import Unavailable

if TYPE_CHECKING:
    from rich.console import RenderableType

    from cactus_actors.client import Client

LOOK_AGAIN_S = 0.2


def status(
    watch: Annotated[
        bool,
        typer.Option("--watch", "-w", help="Repeat, with rates and latencies."),
    ] = False,
    interval: Annotated[float, typer.Option(min=0.1, help="Seconds between two updates.")] = 2.0,
    as_json: AsJson = False,
    endpoint: Endpoint = DEFAULT_JOBS_ENDPOINT,
    key_file: KeyFile = None,
) -> None:
    """Show jobs and workers of a running service.

    With --watch and --json, each update is one line of JSON.

    Example: cactus status --watch
    """
    from cactus_actors.client import Client

    with Client(endpoint, timeout=FIRST_ANSWER_S, key_file=key_file) as client:
        if watch:
            _watch(client, interval, as_json=as_json)
        elif as_json:
            print_json(client.status())
        else:
            print_page(status_page(client.status()))


def _watch(client: Client, interval: float, *, as_json: bool) -> None:
    before, looked_at = client.status(with_totals=True), time.monotonic()
    if as_json:
        print_json(before)
        while True:
            time.sleep(interval)
            print_json(client.status(with_totals=True))
    with _display() as show:
        show(status_page(before))
        while True:
            time.sleep(interval)
            try:
                now, looks_at = client.status(with_totals=True), time.monotonic()
            except Unavailable as error:
                show(error.message)
                continue
            show(status_page(now, before, looks_at - looked_at))
            before, looked_at = now, looks_at


@contextlib.contextmanager
def _display() -> Iterator[Callable[[RenderableType], None]]:
    """Display successive pages: on the terminal's alternate screen, or as lines."""
    console = wide_console()
    if not console.is_terminal:
        yield print_page
        return
    from rich.live import Live

    with Live(console=console, auto_refresh=False, screen=True) as live:
        yield lambda shown: live.update(shown, refresh=True)


def _worker_count(text: str) -> str:
    if text.startswith("--"):
        raise typer.BadParameter(f"there is no option {text}")
    if text != "auto" and not text.isdecimal():
        raise typer.BadParameter(f"give a number of workers, 0 or more, or auto, not {text}")
    if text != "auto" and (len(text) > 4 or int(text) > MAX_WORKERS):  # int refuses thousands of digits
        raise typer.BadParameter(f"a model has at most {MAX_WORKERS} workers, not {text:.40}")
    return text


def scale(
    num_workers: Annotated[
        str,
        typer.Argument(
            callback=_worker_count, metavar="N|auto", help="Number of model workers, or auto: the load decides again."
        ),
    ],
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait until this many workers run, and print each change.")
    ] = False,
    model: Annotated[str | None, typer.Option(help="The model, in a service of several.", metavar="NAME")] = None,
    as_json: AsJson = False,
    endpoint: Endpoint = DEFAULT_JOBS_ENDPOINT,
    key_file: KeyFile = None,
) -> None:
    """Set the number of model workers; running jobs lose nothing.

    In a service with a range of workers (`cactus serve --workers LEAST:MOST`) the number stays as it is set until
    `cactus scale auto`.

    Example: cactus scale 4 --wait

    Example: cactus scale auto

    Example: cactus scale 2 --model large
    """
    from cactus_actors.client import Client

    with Client(endpoint, timeout=FIRST_ANSWER_S, key_file=key_file) as client:
        desired = client.scale("auto" if num_workers == "auto" else int(num_workers), model)
        num_running = num_local(client.status(), model)
        if not as_json:
            typer.echo(_scaled(num_running, desired, waits=wait))
        while wait and num_running != desired:
            time.sleep(LOOK_AGAIN_S)
            before, num_running = num_running, _still_desired(client, desired, model)
            if num_running != before and not as_json:
                typer.echo(workers_summary(num_running, desired))
    if as_json:
        print_json({"num_workers": desired, "num_running": num_running})


def _scaled(num_running: int, desired: int, *, waits: bool) -> str:
    if num_running == desired:
        return f"{counted(desired, 'worker')} desired, and running"
    hint = "" if waits else " (`cactus status` shows them; --wait: wait for them)"
    return f"{counted(desired, 'worker')} desired: {workers_summary(num_running, desired)}{hint}"


def _still_desired(client: Client, desired: int, model: str | None) -> int:
    """The number of workers; raises Unavailable if another client has set a different number."""
    status = client.status()
    of_model = [it.desired_workers for it in status.models if model in (it.name, *it.aliases)]
    desired_now = of_model[0] if of_model else status.desired_workers
    if desired_now != desired:
        raise Unavailable(f"another client has set {counted(desired_now, 'worker')}")
    return num_local(status, model)


def restart(as_json: AsJson = False, endpoint: Endpoint = DEFAULT_JOBS_ENDPOINT, key_file: KeyFile = None) -> None:
    """Replace every model worker, one at a time; running jobs lose nothing.

    Example: cactus restart
    """
    from cactus_actors.client import Client

    with Client(endpoint, timeout=FIRST_ANSWER_S, key_file=key_file) as client:
        num_workers = client.restart_workers()
    if as_json:
        print_json({"num_workers": num_workers})
    else:
        typer.echo(f"{counted(num_workers, 'worker')} {'is' if num_workers == 1 else 'are'} being replaced")
