"""The `local` placement: each actor is a process in a process group of its own."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from cactus_actors.placement.interface import ActorKind
from cactus_actors.placement.local.actor_output import ActorOutput
from cactus_actors.placement.local.call_frames import ActorSpec, frame_of
from cactus_actors.placement.local.core_pool import CorePool, cpus_of
from cactus_actors.placement.local.local_actor import LocalActor
from cactus_actors.placement.local.run_directory import RunDirectory
from cactus_actors.placement.local.watcher_thread import WatcherThread
from cactus_actors.protocol.errors import Unavailable

PROGRAM = "cactus_actors.placement.local.actor_process"


class LocalPlacement:
    """Starts processes that end with this one, however it ends, and notices their ends immediately.

    Their sockets are in a private directory in `state_dir`; their output is announced. Actors that need CPUs
    are pinned to cores of `cores` while there are some, by a call of their `pin`, and all others leave these alone.
    """

    def __init__(self, state_dir: Path, announce: Callable[[str], None], cores: CorePool | None = None) -> None:
        self._announce = announce
        self._cores = cores or CorePool([], 0)
        self._directory = RunDirectory(state_dir)
        self._thread = WatcherThread("local placement")
        self._actors: list[LocalActor] = []
        self._is_closed = False

    @property
    def nodes(self) -> None:
        return None

    def start(self, kind: ActorKind, settings: object, *, name: str, num_cpus: int | None = None) -> LocalActor:
        try:
            actor = self._thread.do(lambda: self._spawn(kind, name, num_cpus)).result()
        except OSError as error:
            raise Unavailable(f"{name}: no process can be started: {error.strerror}") from None
        spec = ActorSpec(
            module=kind.module,
            name=kind.name,
            settings_module=type(settings).__module__,
            settings_name=type(settings).__qualname__,
            settings=msgspec.msgpack.encode(settings),
            cpus=self._cores.other_cpus if num_cpus is None else self._cores.cpus_near(actor.cores),
        )
        actor.send(frame_of(spec))
        if actor.cores:
            actor.notify("pin", cpus_of(actor.cores))
        return actor

    def workers_endpoint(self) -> str:
        return f"ipc://{self._directory.socket_path('workers')}"

    def can_start(self, now: float) -> bool:  # noqa: ARG002
        return True

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        actors = self._thread.do(lambda: list(self._actors)).result()
        for actor in actors:
            actor.kill()
        for actor in actors:
            actor.terminate()
        self._thread.close()
        self._cores.close()
        self._directory.remove()

    def _spawn(self, kind: ActorKind, name: str, num_cpus: int | None) -> LocalActor:
        output = ActorOutput(name, self._announce)
        ours, theirs = socket.socketpair()
        command = [
            sys.executable,
            "-P",
            "-m",
            PROGRAM,
            kind.name,
            name,
            str(theirs.fileno()),
            str(os.getpid()),
        ]
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output.writer,
                stderr=output.writer,
                pass_fds=[theirs.fileno()],
                process_group=0,
                env=environment_of_children(),
            )
        except OSError:
            ours.close()
            os.close(output.reader)
            raise
        finally:
            theirs.close()
            os.close(output.writer)
        cores = [] if num_cpus is None else self._cores.take(num_cpus)
        actor = LocalActor(kind, name, process, ours, cores)
        self._actors.append(actor)
        self._watch(actor, output)
        return actor

    def _watch(self, actor: LocalActor, output: ActorOutput) -> None:
        """Handle its replies and its output until its process has ended."""
        pidfd = _process_descriptor(actor.pid)
        thread = self._thread

        def reap() -> None:
            for descriptor in (actor.connection.fileno(), output.reader):
                thread.unwatch(descriptor)
            if pidfd is not None:
                thread.unwatch(pidfd)
                os.close(pidfd)
            actor.reap()
            output.close()
            self._actors.remove(actor)
            self._cores.give_back(actor.cores)

        def on_answer() -> None:
            if not actor.read():
                reap()

        def on_output() -> None:
            output.read()
            if output.has_ended:
                thread.unwatch(output.reader)

        thread.watch(actor.connection.fileno(), on_answer)
        thread.watch(output.reader, on_output)
        if pidfd is not None:
            thread.watch(pidfd, reap)


def _process_descriptor(pid: int) -> int | None:
    """A pidfd, readable when the process ends; None where unsupported, and its closed socket is noticed instead."""
    with contextlib.suppress(AttributeError, OSError):
        return os.pidfd_open(pid)
    return None


def environment_of_children() -> dict[str, str]:
    """This process's environment with the same module path, and without implicit library threads."""
    return {
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
