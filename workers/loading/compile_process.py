"""Processes that compile what a worker finds not compiled, and leave it in numba's cache.

A process that has compiled the step keeps some hundred megabytes. numba compiles on one thread of a process: the step
is compiled in one, while another packs the model and compiles the sampler.
"""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from types import TracebackType
from typing import IO

import msgspec

from cactus_actors.config import WorkerSettings
from cactus_actors.models.catalog import resolve_model
from cactus_actors.models.mmproj_path import find_mmproj
from cactus_actors.process.parent_death import end_with_parent
from cactus_actors.protocol.errors import CactusError
from cactus_actors.workers.loading.progress import LoadingProgress, LoadingState, combined

STEP, PACKING, SAMPLER = "step", "packing", "sampler"

_encode = msgspec.json.Encoder().encode
_decode_settings = msgspec.json.Decoder(WorkerSettings).decode
_decode_state = msgspec.json.Decoder(LoadingState).decode


class CompileProcesses:
    """One process for the step, and one that packs the weights and compiles the sampler; one for all on one CPU.

    In a context, whose end is theirs. What they fail to do, the worker does itself, or reports the error.
    """

    def __init__(self, settings: WorkerSettings, num_cpus: int | None = None) -> None:
        is_alone = (os.cpu_count() or 1 if num_cpus is None else num_cpus) == 1
        shares = [[PACKING, STEP, SAMPLER]] if is_alone else [[STEP], [PACKING, SAMPLER]]
        self.processes = [_start(settings, parts) for parts in shares]

    def __enter__(self) -> CompileProcesses:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()

    def wait(self, on_state: Callable[[LoadingState], None]) -> None:
        """Return when they have ended; calls `on_state` with what they do together, at each change."""
        states: dict[int, LoadingState] = {}
        changes: SimpleQueue[tuple[int, LoadingState | None]] = SimpleQueue()
        for number, process in enumerate(self.processes):
            assert process.stdout is not None
            Thread(target=_read_states, args=(number, process.stdout, changes), daemon=True).start()
        num_open = len(self.processes)
        while num_open:
            number, state = changes.get()
            if state is None:
                num_open -= 1
            else:
                states[number] = state
                on_state(combined(list(states.values())))
        for process in self.processes:
            process.wait()


def _read_states(number: int, told: IO[bytes], changes: SimpleQueue[tuple[int, LoadingState | None]]) -> None:
    """Pass on the states that a process tells, then None."""
    for line in told:
        changes.put((number, _decode_state(line)))
    changes.put((number, None))


def _start(settings: WorkerSettings, parts: Sequence[str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-P", "-m", "cactus_actors.workers.loading.compile_process", str(os.getpid()), *parts]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert process.stdin is not None
    with suppress(BrokenPipeError), process.stdin as given:
        given.write(_encode(settings))
    return process


def do_parts(settings: WorkerSettings, parts: Sequence[str], on_state: Callable[[LoadingState], None]) -> None:
    """Pack a model, compile its step, compile the sampler by making one."""
    progress = LoadingProgress(lambda changed: on_state(changed.state))
    with progress.track_compilation():
        path = resolve_model(settings.model)
        mmproj = find_mmproj(path, settings.mmproj)
        if PACKING in parts:
            from cactus_actors.workers.loading.load_model import pack_model

            with suppress(OSError):  # the worker keeps its own copy of the weights
                pack_model(
                    path, mmproj, weights=settings.weights, drafts=settings.draft_head, on_progress=progress.on_packed
                )
        if STEP in parts:
            from cactus_actors.workers.loading.load_model import compile_step

            compile_step(path, mmproj, weights=settings.weights, kv_cache=settings.kv_cache, drafts=settings.draft_head)
        if SAMPLER in parts:
            from cactus_actors.workers.engine.sampler import Sampler

            Sampler([])


def main() -> None:
    parent, *parts = sys.argv[1:]
    end_with_parent(int(parent))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # its worker ends it
    gc.disable()  # the process is short, and what numba keeps is large
    settings = _decode_settings(sys.stdin.buffer.read())
    states, sys.stdout = sys.stdout.buffer, sys.stderr  # numba prints, if its variables ask for that

    def tell(state: LoadingState) -> None:
        states.write(_encode(state) + b"\n")
        states.flush()

    with suppress(CactusError):  # the worker gets and reports the same error
        do_parts(settings, parts, tell)
    sys.stderr.flush()
    os._exit(os.EX_OK)  # the kernel frees its memory sooner than the interpreter


if __name__ == "__main__":
    main()
