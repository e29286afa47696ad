"""Models that run on this machine: what the engine asks of them, and how to get one.

Importing this package is light: numba is loaded with the first model.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from workers.batch import Batch
    from workers.kv_cache import KVCache
    from workers.models.config import ModelConfig

WeightsName = Literal["float32", "bfloat16", "int8", "int4"]


class Model(Protocol):
    """Computes steps; holds threads, so `close` it."""

    @property
    def config(self) -> ModelConfig:
        """The shape of the model."""

    @property
    def kernels(self) -> str:
        """The instruction set that its kernels use, for people."""

    def forward(self, batch: Batch, cache: KVCache) -> NDArray[np.float32]:
        """Logits (rows, vocab) of `batch.logit_rows`, a view valid until the next call."""

    def close(self) -> None:
        """Stop the threads."""


class Family(NamedTuple):
    """Models that are computed alike.

    `architectures` are the names in config.json, `gguf_architectures` those in `general.architecture`.
    """

    name: str
    examples: str  # models that people know it by
    architectures: tuple[str, ...]
    gguf_architectures: tuple[str, ...]


def list_families() -> tuple[Family, ...]:
    """The families that can be loaded."""
    return (Family("llama", "Llama 2, SmolLM2, TinyLlama", ("LlamaForCausalLM",), ("llama",)),)


def load_model(path: Path, *, weights: WeightsName, threads: int) -> Model:
    """The model of a directory or GGUF file, packed and compiled.

    Raises ModelFileInvalid, or ConfigurationInvalid for weights or threads that cannot be had.
    """
    from workers.kernels.formats import weight_format
    from workers.models.llama import LlamaModel
    from workers.weights import read_weights

    chosen = weight_format(weights)
    config, tensors = read_weights(path)
    return LlamaModel(config, tensors, chosen, threads)


def random_model(spec: str, *, weights: WeightsName, threads: int, seed: int = 0) -> Model:
    """A model with random weights of the shape that `spec` describes (see `parse_random_spec`)."""
    from workers.kernels.formats import weight_format
    from workers.models.llama import LlamaModel
    from workers.models.random_weights import RandomTensors, parse_random_spec

    config = parse_random_spec(spec)
    return LlamaModel(config, RandomTensors(config, seed), weight_format(weights), threads)
