"""Models of any shape with seeded random weights, for benchmarks and tests."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.workers.families.family import build_graph
from cactus_actors.workers.families.registry import family_named
from cactus_actors.workers.loading.tensor_source import StoredTensor, TensorSource
from cactus_actors.workers.runtime.adapter_sites import AdapterWeights, LowRank, adapter_sites
from cactus_actors.workers.spec.model_config import Layer, ModelConfig
from cactus_actors.workers.spec.rotary import Rope

_REQUIRED = {
    "hidden": "hidden_size",
    "ffn": "ffn_size",
    "layers": "num_layers",
    "heads": "num_heads",
    "kv_heads": "num_kv_heads",
    "head_dim": "head_dim",
    "vocab": "vocab_size",
}


def parse_random_spec(spec: str) -> ModelConfig:
    """The config of `llama:hidden=576,ffn=1536,layers=30,heads=9,kv_heads=3,head_dim=64,vocab=49152`.

    `context` (8192) and `tied` (1) may be added. Raises ConfigurationInvalid that names the key.
    """
    architecture, _, body = spec.partition(":")
    if architecture != "llama":
        raise ConfigurationInvalid(f"random model {spec!r}: only llama:... is supported", param="random")
    given = {"context": 8192, "tied": 1}
    for item in body.split(","):
        key, _, value = item.strip().partition("=")
        if key not in _REQUIRED and key not in given:
            known = ", ".join([*_REQUIRED, "context", "tied"])
            raise ConfigurationInvalid(f"random model: unknown key {key!r} (known: {known})", param="random")
        if not value.isdecimal() or (int(value) == 0 and key != "tied"):
            raise ConfigurationInvalid(f"random model: {key} must be a positive integer", param="random")
        given[key] = int(value)
    if missing := [key for key in _REQUIRED if key not in given]:
        raise ConfigurationInvalid(f"random model: {', '.join(missing)} missing", param="random")
    head_dim = given["head_dim"]
    return ModelConfig(
        family="Llama",
        vocab_size=given["vocab"],
        hidden_size=given["hidden"],
        ffn_size=given["ffn"],
        num_heads=given["heads"],
        num_kv_heads=given["kv_heads"],
        head_dim=head_dim,
        norm_eps=1e-5,
        max_context=given["context"],
        tie_embeddings=bool(given["tied"]),
        ropes=(Rope(10000.0, head_dim),),
        layers=(Layer(),) * given["layers"],
    )


def random_tensors(config: ModelConfig, seed: int) -> TensorSource:
    """All tensors of a model: normal weights that keep activations near unit size.

    A tensor depends on the seed and its name only.
    """
    shapes = build_graph(family_named(config.family), config).tensor_shapes
    reads = {name: partial(_random_tensor, name, shape, seed) for name, shape in shapes.items()}
    return TensorSource({name: StoredTensor(Path(name), name, shapes[name], read) for name, read in reads.items()})


def random_adapter(
    config: ModelConfig, seed: int, *, rank: int, targets: Sequence[str] = ("",), scale: float = 0.3
) -> AdapterWeights:
    """An adapter of the modules whose names end in one of `targets`, all by default.

    It changes the outputs of a module by about `scale` of their size.
    """
    weights = {}
    for site in adapter_sites(build_graph(family_named(config.family), config)):
        for name in site.modules:
            if name.endswith(tuple(targets)):
                outputs, inputs = site.shape_of(name)
                generator = np.random.default_rng([seed, zlib.crc32(name.encode())])
                down = generator.standard_normal((rank, inputs), np.float32) / np.float32(np.sqrt(inputs))
                up = generator.standard_normal((outputs, rank), np.float32) * np.float32(scale / np.sqrt(rank))
                weights[name] = LowRank(down, up)
    return weights


def _random_tensor(name: str, shape: tuple[int, ...], seed: int) -> NDArray[np.float32]:
    generator = np.random.default_rng([seed, zlib.crc32(name.encode())])
    if len(shape) == 1:
        return generator.uniform(0.8, 1.2, shape).astype(np.float32)
    return generator.standard_normal(shape, dtype=np.float32) / np.float32(np.sqrt(shape[1]))
