"""Models that run on this machine: what the engine asks of them, and how to get one.

Importing this package is light: numba is loaded with the first model.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from workers.batch import Batch
    from workers.kv_cache import KVCache
    from workers.models.config import ModelConfig
    from workers.weights.pack import OnProgress

WeightsName = Literal["float32", "bfloat16", "int8", "int4"]
KVFormat = Literal["float32", "float16", "int8"]


class Model(Protocol):
    """Computes steps; holds threads, so `close` it."""

    @property
    def config(self) -> ModelConfig:
        """The shape of the model."""

    @property
    def num_weights(self) -> int:
        """How many numbers the model consists of."""

    @property
    def kernels(self) -> str:
        """The instruction set that its kernels use, for people."""

    def new_cache(self, num_blocks: int, block_size: int = 16) -> KVCache:
        """An empty cache for this model's keys and values."""

    def forward(self, batch: Batch, cache: KVCache) -> NDArray[np.float32]:
        """Logits (rows, vocab) of `batch.logit_rows`, a view valid until the next call."""

    def close(self) -> None:
        """Stop the threads."""


def load_model(
    path: Path,
    *,
    weights: WeightsName,
    threads: int,
    kv_format: KVFormat | None = None,
    on_progress: OnProgress = lambda *_: None,
) -> Model:
    """The model of a directory or GGUF file, compiled; packed once, then mapped from the cache of packed models.

    `kv_format` None takes float32 beside float32 weights and float16 otherwise. Raises ModelFileInvalid, or
    ConfigurationInvalid for weights or threads that cannot be had.
    """
    from workers.runtime.layout import Layout
    from workers.runtime.transformer import TransformerModel
    from workers.weights.packed_file import packed_arenas
    from workers.weights.reader import read_model

    files = read_model(path)
    layout = Layout.for_weights(files.graph, weights)
    arenas = packed_arenas(path, files, layout, on_progress)
    return TransformerModel(
        files.config, files.graph, layout, arenas, threads=threads, kv_format=kv_format or _kv_beside(weights)
    )


def random_model(
    spec: str, *, weights: WeightsName, threads: int, seed: int = 0, kv_format: KVFormat | None = None
) -> Model:
    """A model with random weights of the shape that `spec` describes (see `parse_random_spec`)."""
    from workers.models.families import family_named
    from workers.models.family import graph_of
    from workers.models.random_weights import RandomTensors, parse_random_spec
    from workers.runtime.layout import Layout
    from workers.runtime.transformer import TransformerModel
    from workers.weights.pack import Arenas, pack

    config = parse_random_spec(spec)
    graph = graph_of(family_named(config.family), config)
    layout = Layout.for_weights(graph, weights)
    arenas = Arenas.empty(layout)
    pack(graph, layout, RandomTensors(graph.tensor_shapes, seed), arenas)
    return TransformerModel(
        config, graph, layout, arenas, threads=threads, kv_format=kv_format or _kv_beside(weights)
    )


def _kv_beside(weights: WeightsName) -> KVFormat:
    return "float32" if weights == "float32" else "float16"
