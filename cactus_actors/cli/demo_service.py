"""A running service for the demo."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from cactus_actors.config import ServeConfig

if TYPE_CHECKING:
    from rich.console import Console

    from cactus_actors.process.health import Endpoints


@contextmanager
def running(config: ServeConfig, console: Console) -> Iterator[Endpoints]:
    """Start a service, supervise it in a thread, and stop it at the end; raises the errors of its start."""
    from cactus_actors.service.service import Service

    service = Service(config, announce=console.print)
    started = time.monotonic()
    with ExitStack() as stack:
        with console.status(
            f"starting the router and {config.workers} workers (the first time, kernels are compiled too)"
        ):
            service.start()
        stack.callback(service.stop)
        stop = threading.Event()
        tending = threading.Thread(target=service.reconcile, args=(stop,))
        tending.start()
        stack.callback(tending.join)
        stack.callback(stop.set)
        console.print(f"the router and {config.workers} workers are up ({time.monotonic() - started:.1f} s)")
        yield service.endpoints
