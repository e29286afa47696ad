"""Explains on stderr why an answer does not start, after a second of waiting."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Self

import typer

from cactus_actors.process.delayed_signals import signals_delayed
from cactus_actors.protocol.errors import CactusError

if TYPE_CHECKING:
    from cactus_actors.client import Client
    from cactus_actors.protocol.messages import Status

NOTICE_AFTER_S = 1.0


class WaitNotice:
    """A context for the wait for one job; `stop` ends it early."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._lock = threading.Lock()
        self._is_over = False
        self._timer = threading.Timer(NOTICE_AFTER_S, self._explain)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        with signals_delayed():
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Print no notice from now on."""
        self._timer.cancel()
        with self._lock:
            self._is_over = True

    def _explain(self) -> None:
        with contextlib.suppress(CactusError):  # the wait for the job reports it
            notice = notice_of(self._client.status())
            with self._lock:
                if notice is not None and not self._is_over:
                    typer.secho(notice, dim=True, err=True)


def notice_of(status: Status) -> str | None:
    """The notice if no worker takes jobs; None otherwise."""
    if any(worker.kind == "local" for worker in status.workers):
        return None
    if status.loads_on_demand:
        return "its model was idle and is loaded now: the job waits until it is ready; Ctrl-C cancels it"
    if status.desired_workers == 0:
        return "no worker runs: the job waits in the queue; `cactus scale 1` starts one, Ctrl-C cancels the job"
    return "no worker is ready yet: the job waits in the queue until one is; Ctrl-C cancels it"
