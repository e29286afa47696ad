"""Finds the model of a service, and the names under which every actor finds the same files."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from cactus_actors.config import ServeConfig
from cactus_actors.config_models import ModelMemory
from cactus_actors.models.catalog import list_models, resolve_model
from cactus_actors.models.mmproj_path import find_mmproj
from cactus_actors.protocol.errors import CactusError, ConfigurationInvalid, ModelFileInvalid
from cactus_actors.protocol.model_overrides import NO_OVERRIDES
from cactus_actors.service.actor_settings import (
    ServiceModel,
    adapters_of,
    has_draft_head,
    overrides_of,
    worker_settings_of,
)
from cactus_actors.service.model_check import check_model
from cactus_actors.service.model_configs import NamedConfig


class ModelSource(NamedTuple):
    """`model` and `mmproj` are for the actors' settings; `name` is the model's own, None if it was not read.

    `memory` is None without `max_model_bytes`.
    """

    model: str
    mmproj: str | None
    name: str | None
    memory: ModelMemory | None


def find_service_model(named: NamedConfig, announce: Callable[[str], None]) -> ServiceModel:
    """A model of the service with its files; raises the errors of `find_model`, which name it among several."""
    try:
        _check_adapter_names(named.config, {named.name, *named.aliases, named.config.alias})
        source = find_model(named.config, announce)
        _check_adapter_names(named.config, set() if named.name else {source.name})
    except CactusError as error:
        if named.name:
            raise type(error)(f"model {named.name}: {error.message}", param=error.param) from None
        raise
    return ServiceModel(
        name=named.name,
        aliases=named.aliases,
        config=named.config,
        model=source.model,
        mmproj=source.mmproj,
        own_name=source.name,
        memory=source.memory,
    )


def _check_adapter_names(config: ServeConfig, taken: set[str | None]) -> None:
    for adapter in adapters_of(config):
        if adapter.name in taken:
            raise ConfigurationInvalid(f"the adapter {adapter.name!r} has the name of its model", param="lora")


def find_model(config: ServeConfig, announce: Callable[[str], None]) -> ModelSource:
    """Fetch and check the model's files; raises ModelFileInvalid, ConfigurationInvalid and Unavailable."""
    path = resolve_model(config.model, announce)
    mmproj = find_mmproj(path, config.mmproj, announce)
    overrides = overrides_of(config, config.mmproj if mmproj is None else str(mmproj.absolute()))
    adapters = adapters_of(config)
    name, memory = None, None
    has_head = has_draft_head(config)
    measured_with = None if config.max_model_bytes is None else worker_settings_of(config)
    if config.model not in list_models() or overrides != NO_OVERRIDES or adapters or has_head or measured_with:
        try:
            checked = check_model(path, overrides, adapters, drafts=has_head, measured_with=measured_with)
            name, memory = (path.name, None) if checked is None else (checked.name, checked.memory)
        except ModelFileInvalid as error:
            if config.mmproj is not None or mmproj is None or error.param != mmproj.name:
                raise
            found = f"{error.message}; it is next to the model, --mmproj none serves the text alone"
            raise ModelFileInvalid(found, param=error.param) from None
    if config.ray_address is None:
        return ModelSource(str(path.absolute()), overrides.mmproj, name, memory)
    from cactus_actors.models.hub_cache import pinned

    # actors on other machines look next to their model if no file is given
    given = config.mmproj if config.mmproj is None or mmproj is None else pinned(config.mmproj, mmproj)
    return ModelSource(pinned(config.model, path), given, name, memory)
