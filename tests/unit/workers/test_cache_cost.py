"""The memory of a worker's cache: what is counted is what is allocated, recurrent states included."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cactus_actors.config import WorkerSettings
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.workers.actor import LoadedEngine, hello_message
from cactus_actors.workers.engine.cache_cost import CacheCost
from cactus_actors.workers.engine.engine import Engine
from cactus_actors.workers.engine.kv_cache import CacheShape, KVCache
from cactus_actors.workers.engine.options import TextOptions
from cactus_actors.workers.loading.engine_limits import limits_of, memory_of
from cactus_actors.workers.loading.load_model import pack_model
from cactus_actors.workers.loading.model_reader import ModelFiles, read_model
from cactus_actors.workers.runtime.cache_shape import cache_shape_of
from tests.support.models.fake_model import FakeModel
from tests.support.models.sampler_cases import NoBytes
from tests.support.paths import GOLDENS

HYBRIDS = ["lfm2", "lfm2moe", "lfm3", "granite4-hybrid", "qwen35", "qwen35-untied", "qwen35moe"]
TOKENS = 16  # of a block
FLOAT = 4


class ShapedModel(FakeModel):
    """A model without weights whose cache has the shape of a checkpoint's."""

    def __init__(self, files: ModelFiles) -> None:
        super().__init__(files.config.vocab_size)
        self.config = files.config
        self.shape = cache_shape_of(files.graph)
        self.slot_size = files.graph.slot_size
        self.caches: list[KVCache] = []

    @property
    def cache_shape(self) -> CacheShape:
        return self.shape

    def new_cache(self, num_blocks: int, block_size: int = 16, num_slots: int = 0) -> KVCache:
        self.caches.append(super().new_cache(num_blocks, block_size, num_slots))
        return self.caches[-1]


def up(count: int, multiple: int) -> int:
    return -(-count // multiple) * multiple


def expected_cost(name: str, files: ModelFiles) -> CacheCost:
    """The cost in float32 by the keys of config.json."""
    keys: dict[str, Any] = json.loads((GOLDENS / name / "config.json").read_text())
    kinds = [layer.kind for layer in files.config.layers]
    head_dim = keys.get("head_dim") or keys["hidden_size"] // keys["num_attention_heads"]
    attention = keys["num_key_value_heads"] * (head_dim + up(head_dim, 16))
    convolution = up(keys["hidden_size"], 16)
    floats = kinds.count("attention") * attention + kinds.count("conv") * convolution
    state = 0
    if "delta" in kinds:
        values = keys["linear_num_value_heads"] * keys["linear_value_head_dim"]
        channels = 2 * keys["linear_num_key_heads"] * keys["linear_key_head_dim"] + values
        matrices = keys["linear_num_value_heads"] * keys["linear_key_head_dim"] * up(keys["linear_value_head_dim"], 32)
        state = kinds.count("delta") * (up(channels, 256) * (keys["linear_conv_kernel_dim"] - 1) + matrices)
    if "mamba" in kinds:
        channels = keys["mamba_expand"] * keys["hidden_size"] + 2 * keys["mamba_n_groups"] * keys["mamba_d_state"]
        matrices = keys["mamba_n_heads"] * keys["mamba_d_state"] * up(keys["mamba_d_head"], 32)
        state = kinds.count("mamba") * (up(channels, 256) * (keys["mamba_d_conv"] - 1) + matrices)
    return CacheCost(FLOAT * TOKENS * floats, FLOAT * state)


@pytest.mark.parametrize("name", HYBRIDS)
def test_the_memory_of_a_hybrid_model_is_counted_as_it_is_allocated(name: str) -> None:
    files = read_model(GOLDENS / name)
    shape = cache_shape_of(files.graph)
    assert shape.cost(TOKENS, "float32") == expected_cost(name, files)
    for cache_format in ("float32", "int8"):
        cache = KVCache.allocate(shape, 3, TOKENS, cache_format, num_slots=5)
        allocated = sum(array.nbytes for array in cache.arrays)
        assert allocated == cache.num_bytes == shape.cost(TOKENS, cache_format).bytes_of(3, cache.num_states)
        assert cache.num_states == (5 if files.graph.slot_size else 0)


@pytest.mark.parametrize("name", [*HYBRIDS, "llama3"])
def test_states_and_checkpoints_count_in_cache_bytes_before_blocks(name: str) -> None:
    model = ShapedModel(read_model(GOLDENS / name))
    cost = model.cache_cost(TOKENS)
    least = cost.bytes_of(1, 3 + 4)
    for spare, num_blocks in ((0, 1), (cost.block_bytes - 1, 1), (cost.block_bytes, 2), (10 * cost.block_bytes, 11)):
        settings = WorkerSettings(worker_id="w", max_sequences=3, checkpoints=4, cache_bytes=least + spare)
        limits = limits_of(settings, model.cache_cost(settings.block_size))
        engine = Engine(model, TextOptions(NoBytes(), []), limits)
        assert engine.cache_sizes == (num_blocks, 7 if cost.state_bytes else 0)
        allocated = model.caches[-1].num_bytes
        assert allocated == cost.bytes_of(*engine.cache_sizes) <= least + spare < allocated + cost.block_bytes
        hello = hello_message(settings, LoadedEngine(engine, model))
        assert hello.num_blocks * hello.block_bytes + hello.num_states * hello.state_bytes == allocated
    settings = WorkerSettings(worker_id="w", max_sequences=3, checkpoints=4, cache_bytes=least - 1)
    with pytest.raises(ConfigurationInvalid, match=f"the least is {least}") as caught:
        limits_of(settings, model.cache_cost(settings.block_size))
    assert caught.value.param == "cache_bytes"


def test_without_cache_bytes_the_blocks_hold_cache_tokens() -> None:
    model = ShapedModel(read_model(GOLDENS / "qwen35"))
    settings = WorkerSettings(worker_id="w", max_sequences=2, checkpoints=1, cache_tokens=100)
    limits = limits_of(settings, model.cache_cost(settings.block_size))
    assert (limits.cache_blocks, limits.num_states) == (6, 3)
    assert replace(limits, num_checkpoints=0).num_states == 2


@pytest.mark.parametrize("name", ["llama3", "qwen35"])
def test_the_memory_of_a_model_that_is_not_loaded_is_that_of_its_packed_file_and_its_cache(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CACTUS_CACHE_DIR", str(tmp_path))
    files = read_model(GOLDENS / name)
    settings = WorkerSettings(worker_id="w", weights="float32", max_sequences=2, checkpoints=1, cache_tokens=64)
    memory = memory_of(files, settings)
    packed = pack_model(GOLDENS / name, weights="float32").path.stat().st_size
    assert 4096 <= packed - memory.weight_bytes < 4096 + 2 * 64
    model = ShapedModel(files)
    Engine(model, TextOptions(NoBytes(), []), limits_of(settings, model.cache_cost(settings.block_size)))
    assert memory.cache_bytes == model.caches[-1].num_bytes
    assert memory.of(3) == memory.weight_bytes + 3 * memory.cache_bytes
    assert memory.of(0) == 0


@pytest.mark.parametrize(
    ("given", "num_sequences"),
    [
        ({}, 64),
        ({"cache_tokens": 16_384}, 32),
        ({"cache_tokens": 100}, 16),
        ({"cache_tokens": 1 << 20}, 128),
        ({"cache_tokens": 1 << 20, "token_budget": 256}, 64),
        ({"cache_tokens": 1 << 20, "token_budget": 8}, 16),
        ({"cache_tokens": 1 << 20, "max_sequences": 3}, 3),
    ],
)
def test_a_worker_runs_as_many_sequences_as_its_cache_holds(given: dict[str, int], num_sequences: int) -> None:
    model = ShapedModel(read_model(GOLDENS / "llama3"))
    settings = WorkerSettings(worker_id="w", **given)  # type: ignore[arg-type]
    engine = Engine(model, TextOptions(NoBytes(), []), limits_of(settings, model.cache_cost(settings.block_size)))
    hello = hello_message(settings, LoadedEngine(engine, model))
    assert hello.num_slots == engine.max_sequences == engine.free_slots == num_sequences


def test_the_sequences_of_a_worker_follow_from_the_bytes_of_its_cache() -> None:
    cost = ShapedModel(read_model(GOLDENS / "llama3")).cache_cost(16)
    settings = WorkerSettings(worker_id="w", cache_bytes=cost.block_bytes * 48 * 512 // 16)
    assert limits_of(settings, cost).max_sequences == 48


def test_sequences_that_have_a_state_each_are_few_by_default() -> None:
    model = ShapedModel(read_model(GOLDENS / "qwen35"))
    limits = limits_of(WorkerSettings(worker_id="w", checkpoints=2), model.cache_cost(16))
    assert (limits.max_sequences, limits.num_states) == (16, 18)
