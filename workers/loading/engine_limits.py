"""The limits of an engine, and the memory of a model and its caches, from the settings of a worker."""

from __future__ import annotations

from dataclasses import replace

from cactus_actors.config import WorkerSettings
from cactus_actors.config_models import ModelMemory, cache_format
from cactus_actors.workers.engine.cache_cost import CacheCost
from cactus_actors.workers.engine.options import EngineLimits
from cactus_actors.workers.loading.model_reader import ModelFiles
from cactus_actors.workers.runtime.cache_shape import cache_shape_of
from cactus_actors.workers.runtime.layout import WeightLayout

FEWEST_SEQUENCES = 16
TOKENS_OF_SEQUENCE = 512
"""Prompt and answer of most requests take no more of the cache."""
SHARE_OF_STEP = 4
"""One of so many tokens of the largest step may be of running answers, so that prompts go on beside them."""


def limits_of(settings: WorkerSettings, cost: CacheCost) -> EngineLimits:
    """The engine's limits, with as many blocks as fit `cache_bytes` after the recurrent states, or `cache_tokens`.

    Without `max_sequences` there are as many sequences as the blocks hold; as few as possible if each has a state.

    Raises ConfigurationInvalid if `cache_bytes` holds no block.
    """
    limits = EngineLimits(
        cache_blocks=max(1, settings.cache_tokens // settings.block_size),
        block_size=settings.block_size,
        max_sequences=settings.max_sequences or FEWEST_SEQUENCES,
        token_budget=settings.token_budget,
        max_drafts=settings.speculation,
        num_checkpoints=settings.checkpoints,
        checkpoint_tokens=settings.checkpoint_tokens,
    )
    if settings.cache_bytes is not None:
        limits = replace(limits, cache_blocks=cost.num_blocks_in(settings.cache_bytes, limits.num_states))
    if settings.max_sequences is not None or cost.state_bytes:
        return limits
    most = min(limits.cache_tokens // TOKENS_OF_SEQUENCE, limits.token_budget // SHARE_OF_STEP)
    return replace(limits, max_sequences=max(FEWEST_SEQUENCES, most))


def memory_of(files: ModelFiles, settings: WorkerSettings) -> ModelMemory:
    """The memory of a model that is not loaded; raises ConfigurationInvalid as `limits_of` does."""
    kv_format = cache_format(settings.kv_cache, settings.weights)
    cost = cache_shape_of(files.graph).cost(settings.block_size, kv_format)
    limits = limits_of(settings, cost)
    return ModelMemory(
        weight_bytes=WeightLayout.for_weights(files.graph, settings.weights).num_arena_bytes,
        cache_bytes=cost.bytes_of(limits.cache_blocks, limits.num_states if cost.state_bytes else 0),
    )
