"""The configuration of each model of a service: that of the file, with the settings of its entry in `[[models]]`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from cactus_actors.config import ServeConfig
from cactus_actors.config_models import CLOUD, OF_ONE_MODEL, ModelEntry, beside_models
from cactus_actors.protocol.adapter_names import NAME_RULE, is_adapter_name
from cactus_actors.protocol.errors import ConfigurationInvalid

OF_WORKERS = (
    *("weights", "kv_cache", "speculation", "workers", "threads", "unload_after_s", "max_sequences"),
    *("token_budget", "cache_tokens", "cache_bytes", "checkpoints", "checkpoint_tokens"),
)
"""Settings of an entry that have their defaults at the top of the file."""
FITS = ("probe_file", "probability_file", "prompt_probe_file")
"""Settings of `[handoff]` for one model: those of an entry where there are several."""


class NamedConfig(NamedTuple):
    """A model's configuration, as if it were the only one; the `name` of the only one is empty."""

    name: str
    aliases: tuple[str, ...]
    config: ServeConfig


def model_configs(config: ServeConfig) -> list[NamedConfig]:
    """The configurations of all models, the default one first; raises ConfigurationInvalid."""
    if config.cascade.tiers:
        _check_cascade(config)
    if not config.models:
        return [NamedConfig("", (), config)]
    defaults = ServeConfig()
    for field in OF_ONE_MODEL:
        if getattr(config, field) != getattr(defaults, field):
            raise beside_models(field, field)
    for field in FITS:
        if getattr(config.handoff, field):
            raise beside_models(field, "handoff")
    _check_names(config)
    return [NamedConfig(entry.name, tuple(entry.aliases), _of_entry(config, entry)) for entry in config.models]


def _check_names(config: ServeConfig) -> None:
    seen: set[str] = set()
    for name in _names(config):
        if not is_adapter_name(name):
            raise ConfigurationInvalid(f"models: {name[:100]!r} is no name of a model: {NAME_RULE}", param="models")
        if name in seen:
            raise ConfigurationInvalid(f"models: two of them have the name {name!r}", param="models")
        seen.add(name)
    for entry in config.models:
        of_others = seen - {entry.name, *entry.aliases}
        for adapter in entry.lora:
            if (name := adapter.partition("=")[0]) in of_others:
                raise ConfigurationInvalid(
                    f"models: the adapter {name!r} of {entry.name} has the name of another model", param="models"
                )


def _check_cascade(config: ServeConfig) -> None:
    cascade, names = config.cascade, [entry.name for entry in config.models]
    last = len(cascade.tiers) - 1
    if not names:
        raise ConfigurationInvalid("cascade.tiers are models of [[models]], of which there are none", param="cascade")
    for place, tier in enumerate(cascade.tiers):
        if tier.model not in names and not (tier.model == CLOUD and place == last):
            known = ", ".join([*names, f"{CLOUD} at the end"])
            raise ConfigurationInvalid(f"cascade.tiers: no model {tier.model!r}; there are {known}", param="cascade")
        if (tier.threshold == 0.0) != (place == last):
            needs = "no threshold: it is the last tier" if place == last else "a threshold above 0"
            raise ConfigurationInvalid(f"cascade.tiers: {tier.model} needs {needs}", param="cascade")
    if len(set(cascade.models)) < len(cascade.models):
        raise ConfigurationInvalid("cascade.tiers: a model is in them twice", param="cascade")
    if CLOUD in names:
        raise ConfigurationInvalid(
            f"cascade.tiers: {CLOUD} is the last tier; give the model another name", param="cascade"
        )
    taken = {CLOUD, *_names(config), *(given.partition("=")[0] for entry in config.models for given in entry.lora)}
    if not last:
        raise ConfigurationInvalid("cascade.tiers: there must be two tiers at least", param="cascade")
    if not is_adapter_name(cascade.name):
        raise ConfigurationInvalid(f"cascade.name: {cascade.name[:100]!r} is no name: {NAME_RULE}", param="cascade")
    if cascade.name in taken:
        raise ConfigurationInvalid(
            f"cascade.name: {cascade.name!r} is a name of a model, an adapter or the cloud", param="cascade"
        )


def _names(config: ServeConfig) -> Iterator[str]:
    for entry in config.models:
        yield entry.name
        yield from entry.aliases


def _of_entry(config: ServeConfig, entry: ModelEntry) -> ServeConfig:
    given = {field: value for field in OF_WORKERS if (value := getattr(entry, field)) is not None}
    return msgspec.structs.replace(
        config,
        models=[],
        model=entry.path or entry.name,
        mmproj=entry.mmproj,
        lora=entry.lora,
        chat_template=entry.chat_template,
        tool_format=entry.tool_format,
        handoff=msgspec.structs.replace(config.handoff, **{field: getattr(entry, field) for field in FITS}),
        **given,
    )
