"""The models that have workers when a service starts, within its memory budget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.service.actor_settings import ServiceModel


def models_without_room(models: Sequence[ServiceModel], max_bytes: int | None) -> Iterator[str]:
    """The names of the models that begin without workers: the earlier ones of the configuration take the memory.

    Raises ConfigurationInvalid, with the sizes, for a model that does not fit alone.
    """
    if max_bytes is None:
        return
    left = max_bytes
    for model in models:
        num_bytes = _checked_bytes(model, max_bytes)
        if model.size.begins_unloaded:
            continue
        if num_bytes <= left:
            left -= num_bytes
        else:
            yield model.name


def _checked_bytes(model: ServiceModel, max_bytes: int) -> int:
    name, num_workers, memory = model.name or model.model, model.size.num_at_start, model.memory
    if memory is None:
        raise ConfigurationInvalid(f"the memory of {name} could not be computed", param="max_model_bytes")
    if memory.of(num_workers) > max_bytes:
        raise ConfigurationInvalid(
            f"max_model_bytes is {max_bytes}, but {name} alone takes {memory.of(num_workers)}: {memory.weight_bytes} "
            f"for its weights and {memory.cache_bytes} for the cache of each worker, of which there are {num_workers}",
            param="max_model_bytes",
        )
    return memory.of(num_workers)
