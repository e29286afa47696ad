"""Ahead of a service's first start: its kernels are compiled and its weights packed, as its workers would do."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from cactus_actors.config_models import cache_format
from cactus_actors.fleet.start_phases import ShowPhase, StartPhase
from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import Dispatch
from cactus_actors.service.actor_settings import worker_settings_of
from cactus_actors.service.model_configs import NamedConfig
from cactus_actors.service.model_source import find_service_model
from cactus_actors.workers.loading.progress import LoadingProgress


class WarmModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model that loads without a wait, and what had to be done for that, in `seconds`."""

    model: str
    weights: str
    kv_cache: str
    kernels: str
    was_packed: bool
    was_compiled: bool
    seconds: float

    @property
    def was_ready(self) -> bool:
        """True if nothing had to be done."""
        return not self.was_packed and not self.was_compiled


def warm_model(named: NamedConfig, announce: Callable[[str], None], show_phase: ShowPhase) -> WarmModel:
    """Load a model of a service as a worker does, and compute a token; raises the errors of a worker's start."""
    from cactus_actors.workers.actor import load

    started = time.monotonic()
    served, config = find_service_model(named, announce), named.config
    label = named.name or config.model

    def show(progress: LoadingProgress) -> None:
        show_phase(StartPhase(label, progress.phase, progress.share_done, progress.num_compiled, progress.compiling))

    settings = msgspec.structs.replace(
        worker_settings_of(config),
        model=served.model,
        mmproj=served.mmproj,
        threads=2,  # code of teams is compiled, too
        max_sequences=1,
        cache_tokens=0,
        cache_bytes=None,
        checkpoints=0,
    )
    progress = LoadingProgress(show)
    loaded = load(settings, progress)
    try:
        params = SamplingParams(max_tokens=1, temperature=0.0, ignore_eos=True)
        loaded.engine.add(Dispatch(0, "warm", [0], [], params))
        while loaded.engine.has_work:
            loaded.engine.step()
    finally:
        loaded.close()
    return WarmModel(
        model=label,
        weights=config.weights,
        kv_cache=cache_format(config.kv_cache, config.weights),
        kernels=loaded.model.kernels,
        was_packed=progress.has_packed,
        was_compiled=progress.has_compiled,
        seconds=time.monotonic() - started,
    )
