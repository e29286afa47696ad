"""The model-worker actor: one engine, one socket, one thread that runs them."""

from __future__ import annotations

import gc
import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from cactus_actors.config import WorkerSettings
from cactus_actors.config_models import cache_format
from cactus_actors.keys.key_file import read_key_file
from cactus_actors.models.catalog import resolve_model
from cactus_actors.models.mmproj_path import find_mmproj
from cactus_actors.models.pooling import pooling_of
from cactus_actors.process.cpu_cores import pin_threads
from cactus_actors.process.health import WorkerHealth
from cactus_actors.process.node_id import node_id
from cactus_actors.protocol.errors import ConfigurationInvalid, InvalidMessage
from cactus_actors.protocol.model_overrides import ModelOverrides
from cactus_actors.protocol.worker_messages import Hello
from cactus_actors.text import TextModel, load_text_model
from cactus_actors.workers.loading.compile_events import NotCompiled, refuse_to_compile
from cactus_actors.workers.loading.compile_process import CompileProcesses
from cactus_actors.workers.loading.progress import LoadingProgress
from cactus_actors.workers.router_link import RouterLink

if TYPE_CHECKING:
    from cactus_actors.workers.engine.engine import Engine
    from cactus_actors.workers.engine.model import Model
    from cactus_actors.workers.loading.packing import OnProgress
    from cactus_actors.workers.session import LoadAdapter, WorkerSession

IDLE_WAIT_S = 0.2
MAX_REPORTS_AHEAD = 32
"""Reports that the router may have left unread while the worker computes the next steps."""


@dataclass(frozen=True)
class LoadedEngine:
    """A model in memory and the engine that runs it; `fingerprint` is that of the model's files.

    `load_adapter` is None for a model that takes no adapters.
    """

    engine: Engine
    model: Model
    fingerprint: str = ""
    load_adapter: LoadAdapter | None = None

    def close(self) -> None:
        """Stop the model's threads."""
        self.model.close()


def load(settings: WorkerSettings, progress: LoadingProgress | None = None) -> LoadedEngine:
    """Load the model of `settings`; raises ModelFileInvalid or ConfigurationInvalid."""
    path = resolve_model(settings.model)
    progress = progress or LoadingProgress()
    text = load_text_model(path, ModelOverrides(mmproj=settings.mmproj))
    with suppress(NotCompiled), refuse_to_compile():
        return load_engine_from(path, text, settings, progress.on_packed)
    progress.has_compiled = True
    with CompileProcesses(settings) as processes:
        processes.wait(progress.follow)
    with progress.track_compilation():  # of what these processes could not compile
        return load_engine_from(path, text, settings, progress.on_packed)


def load_engine_from(
    path: Path, text: TextModel, settings: WorkerSettings, on_packed: OnProgress = lambda *_: None
) -> LoadedEngine:
    """`load` for a model whose path and text model are known."""
    from cactus_actors.structured.matcher import Matchers
    from cactus_actors.workers.engine.engine import Engine
    from cactus_actors.workers.engine.options import TextOptions
    from cactus_actors.workers.loading.engine_limits import limits_of
    from cactus_actors.workers.loading.load_model import adapter_loader, load_model

    mmproj = find_mmproj(path, settings.mmproj)
    model = load_model(
        path,
        mmproj,
        weights=settings.weights,
        kv_cache=settings.kv_cache,
        threads=settings.threads,
        drafts=settings.draft_head,
        on_progress=on_packed,
    )
    options = TextOptions(
        text.tokenizer,
        text.eos_ids,
        new_constraint=Matchers(text.tokenizer, text.eos_ids),
        pooling=pooling_of(path),
    )
    try:
        engine = Engine(model, options, limits_of(settings, model.cache_cost(settings.block_size)))
    except MemoryError as error:
        model.close()
        raise ConfigurationInvalid(
            f"the cache does not fit this machine ({error}): lower cache_tokens or cache_bytes", param="cache_tokens"
        ) from None
    except NotCompiled:
        model.close()
        raise
    return LoadedEngine(engine, model, text.fingerprint, adapter_loader(path, mmproj, model))


def hello_message(settings: WorkerSettings, loaded: LoadedEngine) -> Hello:
    config = loaded.model.config
    num_blocks, num_states = loaded.engine.cache_sizes
    cost = loaded.model.cache_cost(settings.block_size)
    return Hello(
        worker_id=settings.worker_id,
        kind="local",
        model=settings.model,
        num_slots=loaded.engine.max_sequences,
        num_blocks=num_blocks,
        block_size=settings.block_size,
        max_context=min(config.max_context, num_blocks * settings.block_size),
        node=socket.gethostname(),
        pid=os.getpid(),
        served_as=settings.served_as,
        threads=settings.threads,
        kernels=loaded.model.kernels,
        weights=settings.weights,
        fingerprint=loaded.fingerprint,
        kv_cache=cache_format(settings.kv_cache, settings.weights),
        block_bytes=cost.block_bytes,
        num_states=num_states,
        state_bytes=cost.state_bytes,
        num_layers=config.num_layers,
        node_id=node_id(),
    )


Load = Callable[[WorkerSettings, LoadingProgress], LoadedEngine]


class WorkerActor:
    """Registers with the router and runs its dispatches until it is drained or stopped.

    `run` belongs to one thread; `pin`, `drain`, `stop` and `health` may be called from any thread.
    """

    def __init__(self, settings: WorkerSettings, load: Load = load) -> None:
        # Set before numba is imported: Ray limits the threads of OpenMP to the placed CPUs, but not those of numba.
        os.environ["NUMBA_NUM_THREADS"] = str(settings.threads)
        self._settings = settings
        self._load = load
        self._must_drain = threading.Event()
        self._must_stop = threading.Event()
        self._progress = LoadingProgress()
        self._core: WorkerSession | None = None  # None while the model loads
        self._ticked_at = time.monotonic()
        self._own_cpus: list[int] = []

    def run(self, router_endpoint: str) -> str:
        """Load the model and serve; returns the reason for leaving: "drained" or "stopped".

        Raises ConfigurationInvalid, which names the difference, if the router serves another model.
        """
        from cactus_actors.workers.session import WorkerSession, no_adapters

        key_file = self._settings.key_file
        credentials = None if key_file is None else read_key_file(Path(key_file))
        loaded = self._load(self._settings, self._progress)
        if self._own_cpus:
            pin_threads(self._own_cpus)
        gc.collect()
        gc.freeze()  # objects of the model live as long as the process
        try:
            hello = msgspec.structs.replace(hello_message(self._settings, loaded), max_reports_ahead=MAX_REPORTS_AHEAD)
            self._core = WorkerSession(loaded.engine, hello, loaded.load_adapter or no_adapters)
            with RouterLink(router_endpoint, credentials) as link:
                return self._serve(self._core, link)
        finally:
            loaded.close()

    def pin(self, cpus: list[int]) -> None:
        """Run on these CPUs alone once the model is loaded: compilation uses all of them."""
        self._own_cpus = cpus

    def drain(self) -> None:
        """Finish running dispatches, accept no new ones, then leave."""
        self._must_drain.set()

    def stop(self) -> None:
        """Leave immediately; the router runs unfinished dispatches elsewhere."""
        self._must_stop.set()

    def health(self) -> WorkerHealth:
        """The state of the worker, without waiting for a step."""
        return WorkerHealth(
            worker_id=self._settings.worker_id,
            pid=os.getpid(),
            state="loading" if self._core is None else self._core.state,
            last_tick_s=time.monotonic() - self._ticked_at,
            node=socket.gethostname(),
            node_id=node_id(),
            phase=self._progress.phase,
            share_done=self._progress.share_done,
            num_compiled=self._progress.num_compiled,
            compiling=self._progress.compiling,
        )

    def _serve(self, core: WorkerSession, link: RouterLink) -> str:
        """Receive, step and report until the session has ended."""
        link.send(core.begin(time.monotonic()))
        while not core.has_left:
            self._ticked_at = now = time.monotonic()
            try:
                for command in link.receive(0.0 if core.has_work else IDLE_WAIT_S):
                    link.send(core.on_command(command, now))
            except InvalidMessage:  # it may have been a dispatch: start a new session, so that the router knows
                link.send(core.begin(now))
            if self._must_stop.is_set():
                link.send(core.leave())
                return "stopped"
            if self._must_drain.is_set():
                link.send(core.drain())
            if not link.send(core.on_tick(time.monotonic())):
                core.begin(now)  # the router has not read for long: start a new session
        return "drained"
