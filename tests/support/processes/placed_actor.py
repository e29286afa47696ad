"""Small actors for tests of placements."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import msgspec

from cactus_actors.config import WorkerSettings
from cactus_actors.placement.interface import ActorKind
from cactus_actors.process.health import WorkerHealth
from cactus_actors.process.parent_death import end_with_parent
from cactus_actors.protocol.errors import ConfigurationInvalid

CHILD = "import sys; from tests.support.processes.placed_actor import sleep_under; sleep_under(int(sys.argv[1]))"


class PlacedSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`refuses` keeps the actor from being built."""

    word: str = "word"
    refuses: bool = False


class PlacedActor:
    """Executes its requests; `run` lasts until `stop`."""

    def __init__(self, settings: PlacedSettings) -> None:
        if settings.refuses:
            raise ConfigurationInvalid("it refuses", param="refuses")
        self._settings = settings
        self._must_stop = threading.Event()
        self._child: subprocess.Popen[bytes] | None = None

    def start(self) -> str:
        return threading.current_thread().name

    def run(self, *words: str) -> str:
        self._must_stop.wait()
        return " ".join(("stopped", *words))

    def stop(self) -> None:
        self._must_stop.set()

    def settings(self) -> PlacedSettings:
        return self._settings

    def pid(self) -> int:
        return os.getpid()

    def child_pid(self) -> int:
        """Start a process, which ends with this one, and return its number."""
        self._child = subprocess.Popen([sys.executable, "-c", CHILD, str(os.getpid())])
        return self._child.pid

    def say(self, line: str) -> None:
        print(line, flush=True)

    def divide(self, by: int) -> int:
        return 1 // by

    def refuse(self) -> None:
        raise ConfigurationInvalid("not this", param="that")

    def sleep(self) -> None:
        time.sleep(3600.0)


class LoadingWorker:
    """A worker that loads its model forever, with a child process; `stop` does not reach it."""

    def __init__(self, settings: WorkerSettings) -> None:
        self._worker_id = settings.worker_id
        self._child = subprocess.Popen([sys.executable, "-c", CHILD, str(os.getpid())])

    def run(self, _: str) -> str:
        time.sleep(3600.0)
        return "drained"

    def stop(self) -> None:
        pass

    def health(self) -> WorkerHealth:
        return WorkerHealth(worker_id=self._worker_id, pid=os.getpid(), state="loading", last_tick_s=0.0)


def sleep_under(parent: int) -> None:
    end_with_parent(parent)
    time.sleep(3600.0)


LOADING = ActorKind("tests.support.processes.placed_actor", "LoadingWorker", {"health": WorkerHealth})
PLACED = ActorKind(
    "tests.support.processes.placed_actor",
    "PlacedActor",
    {"start": str, "settings": PlacedSettings, "pid": int, "child_pid": int, "divide": int},
)
