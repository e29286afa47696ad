"""Why an answer does not begin: said once on stderr, when nothing has come for a second."""

from __future__ import annotations

import contextlib
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Self

import typer

from cactus_actors.protocol.errors import CactusError

if TYPE_CHECKING:
    from cactus_actors.client import Client
    from cactus_actors.protocol.messages import Status

NOTICE_AFTER_S = 1.0


class WaitNotice:
    """Around the wait for one job; `came` says that there is nothing to explain any more."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._lock = threading.Lock()
        self._is_over = False
        self._timer = threading.Timer(NOTICE_AFTER_S, self._explain)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.came()

    def came(self) -> None:
        """Nothing is said from now on."""
        self._timer.cancel()
        with self._lock:
            self._is_over = True

    def _explain(self) -> None:
        with contextlib.suppress(CactusError):  # who waits for the job is told of it
            notice = notice_of(self._client.status())
            with self._lock:
                if notice is not None and not self._is_over:
                    typer.secho(notice, dim=True, err=True)


def notice_of(status: Status) -> str | None:
    """What keeps jobs from running, if it is that no worker takes them."""
    if any(worker.kind == "local" for worker in status.workers):
        return None
    if status.desired_workers == 0:
        return "no worker runs: the job waits in the queue; `cactus scale 1` starts one, Ctrl-C cancels the job"
    return "no worker is ready yet: the job waits in the queue until one is; Ctrl-C cancels it"
