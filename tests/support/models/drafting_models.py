"""Tiny models of seven or more tokens with heads for drafts, random ones and ones that agree with their model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cactus_actors.config_models import WeightFormat
from cactus_actors.workers.engine.model import Model
from cactus_actors.workers.loading.load_model import model_from_tensors
from cactus_actors.workers.loading.model_reader import read_model
from cactus_actors.workers.loading.random_weights import random_tensors
from cactus_actors.workers.spec.model_config import Layer, ModelConfig
from tests.support.paths import GOLDENS


def drafting_config(name: str = "qwen35", *, vocab_size: int = 7) -> ModelConfig:
    """The config of a golden checkpoint with a head, untied, for few tokens."""
    config = read_model(GOLDENS / name).config
    layer = Layer(has_experts=config.layers[-1].has_experts)
    return replace(config, vocab_size=vocab_size, max_context=96, tie_embeddings=False, draft_layer=layer)


def drafting_model(config: ModelConfig, *, weights: WeightFormat = "float32", influence: float = 1.0) -> Model:
    """A random model and head.

    With an `influence` of layers below one, the head looks at its token nearly alone, as its model does: the smaller,
    the more often do both agree.
    """
    tensors = dict(random_tensors(config, 2).items())
    if influence < 1:
        size = config.hidden_size
        tensors["mtp.fc"] = np.concatenate([np.eye(size), np.zeros((size, size))], axis=1, dtype=np.float32)
        for name in tensors:
            if name.endswith(("o_proj", "out_proj", "down_proj")):
                tensors[name] = tensors[name] * np.float32(influence)
            elif name.endswith("norm") and tensors[name].shape == (size,):
                tensors[name] = np.zeros(size, np.float32)  # a gain of one
            elif name.startswith("mtp.pre_fc"):
                tensors[name] = np.zeros(size, np.float32)
    return model_from_tensors(config, _arrays(tensors), weights=weights, threads=1)


def _arrays(tensors: dict[str, NDArray[np.float32]]) -> dict[str, NDArray[np.float32]]:
    return {name: np.ascontiguousarray(values, np.float32) for name, values in tensors.items()}
