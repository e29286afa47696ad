"""The memory that is left, beside the memory that the models of a service will take."""

from __future__ import annotations

from pathlib import Path

import msgspec

from cactus_actors.config import ServeConfig
from cactus_actors.doctor.finding import Finding
from cactus_actors.doctor.limits import free_memory, memory_limit
from cactus_actors.models.catalog import list_models
from cactus_actors.protocol.errors import CactusError
from cactus_actors.service.model_configs import NamedConfig, model_configs
from cactus_actors.service.model_source import find_service_model

PROCESS_BYTES = 180 << 20
"""Of a process of the service, beside weights and cache: the router, the gateway, and each worker."""
NUM_OTHER_PROCESSES = 3


def memory(config: ServeConfig, free: int | None = None) -> Finding:
    """All models with their workers, as they are at the start; models on the hub are not fetched for this."""
    free = free_memory() if free is None else free
    limit = memory_limit()
    needed, unknown = NUM_OTHER_PROCESSES * PROCESS_BYTES, []
    for named in model_configs(config):
        if not _is_here(named.config.model):
            unknown.append(named.config.model)
            continue
        try:
            needed += _bytes_of(named)
        except CactusError as error:
            advice = "change the model or its settings: cactus serve refuses them"
            return Finding(subject="memory", grade="bad", text=error.message, advice=advice)
    text = f"{free / 1e9:.1f} GB are free" + ("" if limit is None else f" within a limit of {limit / 1e9:.1f} GB")
    text += f"; the service takes about {needed / 1e9:.1f} GB"
    if unknown:
        text += f", and more for {', '.join(unknown)}, which is not on this machine yet"
    return Finding.judged(
        "memory",
        text,
        (needed > free, "bad", "take fewer --workers, a smaller cache_tokens, --kv-cache int8 or --weights int4"),
        free_bytes=free,
        needed_bytes=needed,
    )


def _is_here(model: str) -> bool:
    return model in list_models() or Path(model).expanduser().exists()


def _bytes_of(named: NamedConfig) -> int:
    """The bytes of a model and its workers; raises what a start raises for it."""
    measured = named._replace(config=msgspec.structs.replace(named.config, max_model_bytes=1 << 62, ray_address=None))
    model = find_service_model(measured, lambda _: None)
    num_workers = model.size.num_at_start
    return (0 if model.memory is None else model.memory.of(num_workers)) + num_workers * PROCESS_BYTES
