"""The models of a service: `[[models]]` of a configuration, and what its router and gateway know of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import msgspec
from msgspec import Meta

from cactus_actors.config_scaling import WorkerCount, WorkerRange
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.protocol.model_overrides import NO_OVERRIDES, ModelOverrides
from cactus_actors.setting_types import DayOrLess, Positive, TokenCount, about

WeightFormat = Literal["float32", "bfloat16", "int8", "int4"]
CacheFormat = Literal["auto", "float32", "float16", "int8"]
"""The format of keys and values; auto is float32 or float16 beside float32 or bfloat16 weights, else int8."""
_CACHE_BESIDE = {"float32": "float32", "bfloat16": "float16", "int8": "int8", "int4": "int8"}

Drafts = Annotated[int, Meta(ge=0, le=64)] | Literal["mtp", "mtp:1", "mtp:2", "mtp:3", "mtp:4", "mtp:5", "mtp:6"]
DEFAULT_MODEL = "cactus-sprout"
CLOUD = "cloud"
"""The last tier of a cascade that ends in the cloud."""


def cache_format(chosen: CacheFormat, weights: WeightFormat) -> str:
    """The format of keys and values with weights of that format."""
    return _CACHE_BESIDE[weights] if chosen == "auto" else chosen


OF_ONE_MODEL = ("model", "mmproj", "lora", "chat_template", "tool_format", "alias")
"""Settings at the top of the file that describe the only model."""


class AdapterSetting(msgspec.Struct, frozen=True, kw_only=True):
    """A LoRA adapter: the name that requests use, and its directory or GGUF file."""

    name: str
    path: str


class ModelEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry of `[[models]]`: a model of a service that has several.

    The first one answers requests that name none. A setting with a default of the same name at the top of the file
    has that value where it is not set.
    """

    name: Annotated[str, about("The name that requests use.")]
    path: Annotated[str | None, about("The model's files, as in `model`; by default the embedded model `name`.")] = None
    aliases: Annotated[list[str], about("Other names that requests may use.")] = []
    workers: Annotated[WorkerCount | None, about("Number of the model's workers, or LEAST:MOST, as above.")] = None
    unload_after_s: Annotated[
        DayOrLess | None, about("Seconds without a job after which its workers stop; a job starts them again.")
    ] = None
    mmproj: Annotated[str | None, about("As at the top of the file, of this model.")] = None
    lora: Annotated[list[str], about("As at the top of the file, of this model.")] = []
    chat_template: Annotated[Path | None, about("As at the top of the file, of this model.")] = None
    tool_format: Annotated[str | None, about("As at the top of the file, of this model.")] = None
    weights: Annotated[WeightFormat | None, about("Format of the weights in memory.")] = None
    kv_cache: Annotated[CacheFormat | None, about("Format of the KV cache.")] = None
    speculation: Annotated[Drafts | None, about("Draft tokens, as at the top of the file.")] = None
    threads: Annotated[Positive | None, about("Threads of each worker.")] = None
    max_sequences: Annotated[Positive | None, about("Sequences that a worker runs at once.")] = None
    token_budget: Annotated[Positive | None, about("Largest number of tokens in a step.")] = None
    cache_tokens: Annotated[TokenCount | None, about("Size of a worker's KV cache, in tokens.")] = None
    cache_bytes: Annotated[Positive | None, about("Memory of a worker's cache; replaces `cache_tokens`.")] = None
    checkpoints: Annotated[Annotated[int, Meta(ge=0)] | None, about("Recurrent states for cached prefixes.")] = None
    checkpoint_tokens: Annotated[Positive | None, about("Tokens from one kept recurrent state to the next.")] = None
    probe_file: Annotated[str | None, about("As in `[handoff]`, of this model.")] = None
    probability_file: Annotated[str | None, about("As in `[handoff]`, of this model.")] = None
    prompt_probe_file: Annotated[str | None, about("As in `[handoff]`, of this model.")] = None


def beside_models(field: str, param: str) -> ConfigurationInvalid:
    """The error for a setting of the only model in a configuration with `[[models]]`."""
    return ConfigurationInvalid(f"{field} is a setting of each of [[models]] where there are any", param=param)


class CascadeTier(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry of `[[cascade.tiers]]`: a model that answers, or hands the request on to the next one."""

    model: Annotated[str, about("The name of an entry of `[[models]]`; the last one may be cloud.")]
    threshold: Annotated[
        float, Meta(ge=0, le=1), about("Answers of a lower confidence signal are handed on; 0 for the last tier.")
    ] = 0.0


class CascadeSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The section `[cascade]`: models in the order in which they are asked."""

    name: Annotated[str, about("The name that requests use for the cascade, as a model.")] = "cascade"
    tiers: Annotated[list[CascadeTier], about("The models; without any there is no cascade.")] = []

    @property
    def models(self) -> list[str]:
        """The models of the service that it asks."""
        return [tier.model for tier in self.tiers if tier.model != CLOUD]

    @property
    def audited_models(self) -> list[str]:
        """The models whose answers the last tier may check: those with a threshold."""
        return [tier.model for tier in self.tiers[:-1] if tier.threshold]

    @property
    def last_model(self) -> str:
        """The model of the service that it ends in; empty if it ends in the cloud."""
        return "" if self.ends_in_cloud or not self.tiers else self.tiers[-1].model

    @property
    def ends_in_cloud(self) -> bool:
        return bool(self.tiers) and self.tiers[-1].model == CLOUD

    def is_named_by(self, model: str | None) -> bool:
        """True if a request's `model` is the cascade."""
        return bool(self.tiers) and model == self.name

    def threshold_of(self, model: str) -> float:
        """The threshold of the tier with this model."""
        return next(tier.threshold for tier in self.tiers if tier.model == model)


NO_CASCADE = CascadeSettings()


class ModelMemory(msgspec.Struct, frozen=True, kw_only=True):
    """The memory of a model's weights, once on a machine, and of the cache of each of its workers."""

    weight_bytes: int
    cache_bytes: int

    def of(self, num_workers: int) -> int:
        """The memory of the model with that many workers on one machine."""
        return self.weight_bytes + num_workers * self.cache_bytes if num_workers else 0


class PlacedWorkers(NamedTuple):
    """The workers of a model: their number on each node, and the number of those whose node is not known yet."""

    memory: ModelMemory
    by_node: Mapping[str, int]
    num_unplaced: int = 0

    def bytes_on(self, node: str) -> int:
        """The most memory that they may take there: those that are not placed yet may all run on that node."""
        return self.memory.of(self.by_node.get(node, 0) + self.num_unplaced)

    def num_that_fit(self, node: str, num_bytes: int) -> int:
        """The workers that fit into that memory of a node in addition to these, if all run there."""
        num_all = (num_bytes - self.memory.weight_bytes) // self.memory.cache_bytes
        return num_all - self.by_node.get(node, 0) - self.num_unplaced


def nodes_of(models: Iterable[PlacedWorkers]) -> set[str]:
    """The nodes with workers of these models; a nameless one if there are none."""
    return {node for model in models for node in model.by_node} or {""}


def excess_bytes(models: Sequence[PlacedWorkers], max_bytes: int) -> int:
    """The memory beyond `max_bytes` that the workers of these models may take on a node, summed over the nodes."""
    totals = [sum(model.bytes_on(node) for model in models) for node in nodes_of(models)]
    return sum(max(0, total - max_bytes) for total in totals)


class RoutedModel(msgspec.Struct, frozen=True, kw_only=True):
    """One of several models in the settings of the router and the gateway: its names and its files.

    Workers must have `weights` and `kv_cache` in these formats; `desired_workers` is their number, which the router
    changes within `size`, unless it `is_size_fixed` by an operator. Without a job for `unload_after_s` seconds they
    stop, and they do not run at the start if it `begins_unloaded`. `memory` is known where `max_model_bytes` bounds
    that of all models.
    """

    name: str
    aliases: list[str] = []
    model: str = DEFAULT_MODEL
    overrides: ModelOverrides = NO_OVERRIDES
    weights: WeightFormat | None = None
    kv_cache: str | None = None
    adapters: list[AdapterSetting] = []
    desired_workers: int = 1
    size: WorkerRange | None = None
    is_size_fixed: bool = False
    unload_after_s: float | None = None
    begins_unloaded: bool = False
    memory: ModelMemory | None = None
    probe_file: str | None = None
    probability_file: str | None = None
    prompt_probe_file: str | None = None
