"""Processes that compile what a worker finds not compiled, and leave it in numba's cache.

A process that has compiled the step keeps some hundred megabytes. numba compiles on one thread of a process; step and
sampler are compiled side by side.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType

import msgspec

from cactus_actors.config import WorkerSettings
from cactus_actors.models.catalog import resolve_model
from cactus_actors.models.mmproj_path import find_mmproj
from cactus_actors.process.parent_death import end_with_parent
from cactus_actors.protocol.errors import CactusError
from cactus_actors.workers.loading.progress import LoadingProgress, LoadingState

STEP, SAMPLER = "step", "sampler"

_encode = msgspec.json.Encoder().encode
_decode_settings = msgspec.json.Decoder(WorkerSettings).decode
_decode_state = msgspec.json.Decoder(LoadingState).decode


class CompileProcesses:
    """One process for the step and one for the sampler; on a machine with one CPU, one for both.

    In a context, whose end is theirs. What they fail to compile, the worker compiles itself, or reports the error.
    """

    def __init__(self, settings: WorkerSettings, num_cpus: int | None = None) -> None:
        is_alone = (os.cpu_count() or 1 if num_cpus is None else num_cpus) == 1
        self.processes = [_start(settings, [STEP, SAMPLER] if is_alone else [STEP], stdout=subprocess.PIPE)]
        if not is_alone:
            self.processes.append(_start(settings, [SAMPLER], stdout=subprocess.DEVNULL))

    def __enter__(self) -> CompileProcesses:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()

    def wait(self, on_state: Callable[[LoadingState], None]) -> None:
        """Return when they have ended; calls `on_state` with each state of the one that loads the model."""
        first = self.processes[0].stdout
        assert first is not None
        for line in first:
            on_state(_decode_state(line))
        for process in self.processes:
            process.wait()


def _start(settings: WorkerSettings, parts: Sequence[str], stdout: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-P", "-m", "cactus_actors.workers.loading.compile_process", str(os.getpid()), *parts]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=stdout,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert process.stdin is not None
    with suppress(BrokenPipeError), process.stdin as given:
        given.write(_encode(settings))
    return process


def compile_parts(settings: WorkerSettings, parts: Sequence[str], on_state: Callable[[LoadingState], None]) -> None:
    """Compile the step of a model by loading it, the sampler by making one."""
    progress = LoadingProgress(lambda changed: on_state(changed.state))
    with progress.track_compilation():
        if STEP in parts:
            from cactus_actors.workers.loading.load_model import load_model

            path = resolve_model(settings.model)
            load_model(
                path,
                find_mmproj(path, settings.mmproj),
                weights=settings.weights,
                kv_cache=settings.kv_cache,
                threads=settings.threads,
                drafts=settings.draft_head,
                on_progress=progress.on_packed,
            ).close()
        if SAMPLER in parts:
            from cactus_actors.workers.engine.sampler import Sampler

            Sampler([])


def main() -> None:
    parent, *parts = sys.argv[1:]
    end_with_parent(int(parent))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # its worker ends it
    settings = _decode_settings(sys.stdin.buffer.read())
    states, sys.stdout = sys.stdout.buffer, sys.stderr  # numba prints, if its variables ask for that

    def tell(state: LoadingState) -> None:
        states.write(_encode(state) + b"\n")
        states.flush()

    with suppress(CactusError):  # the worker gets and reports the same error
        compile_parts(settings, parts, tell)


if __name__ == "__main__":
    main()
