"""The reference of a configuration: a checkpoint with random weights, and the log-probabilities of transformers."""

from __future__ import annotations

import json
import logging
import resource
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText, PreTrainedModel
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING

from tests.differential.configurations import Configuration
from tests.differential.encoders import PROCESSOR, WITH_PICTURES
from tests.goldens.picture_inputs import Inputs, inputs_of, token_types_of

MAX_MEMORY = 16 << 30
BUFFERS = ("expert_bias", "layer_scalar", "std_bias", "std_scale", "_min", "_max")
"""Ends of the names of buffers that checkpoints have."""
HEAD, EMBEDDING = "lm_head.weight", "embed_tokens.weight"


class NoReference(Exception):
    """transformers does not compute this configuration."""


class Incomplete(NoReference):
    """transformers replaces tensors that the files do not have by noise."""


def quiet() -> None:
    """Use one thread, no output, and a memory limit, so that an odd size is an error of one model alone."""
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, resource.RLIM_INFINITY))
    logging.getLogger("workers").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()


def write_checkpoint(configuration: Configuration, directory: Path, seed: int) -> None:
    """config.json and model.safetensors under the names of published checkpoints. Raises NoReference."""
    config_path = directory / "config.json"
    (directory / "preprocessor_config.json").write_text(json.dumps(PROCESSOR))
    config_path.write_text(json.dumps(configuration.config, indent=2) + "\n")
    try:
        _save_model(configuration, directory, seed)
    except Exception as error:
        raise NoReference(f"{type(error).__name__}: {error}") from error
    config_path.write_text(
        json.dumps(configuration.config, indent=2) + "\n"
    )  # not in the form that transformers writes
    _exchange_head(configuration, directory / "model.safetensors")


def _save_model(configuration: Configuration, directory: Path, seed: int) -> None:
    """Random weights of the shapes that transformers gives the model."""
    config = AutoConfig.from_pretrained(directory, trust_remote_code=False)
    model = _class_for(directory).from_config(config)
    model_type = configuration.family.model_type
    is_gemma = "gemma" in model_type
    is_offset = model_type.startswith(("gemma2", "gemma3", "qwen3_5")) and not model_type.startswith("gemma3n")
    stored = [(name, each) for name, each in model.named_buffers() if name.endswith(BUFFERS)]
    with torch.no_grad():
        for name, parameter in [*model.named_parameters(), *stored]:
            weights = random_weights(name, tuple(parameter.shape), seed, is_gemma=is_gemma, is_offset=is_offset)
            parameter.copy_(torch.from_numpy(weights))
    model.to(getattr(torch, configuration.storage)).save_pretrained(directory)


def _class_for(directory: Path) -> Any:
    """The class that loads the model; some models with images are not registered as text models."""
    config = AutoConfig.from_pretrained(directory, trust_remote_code=False)
    is_of_text = type(config) in MODEL_FOR_CAUSAL_LM_MAPPING and config.model_type not in WITH_PICTURES
    return AutoModelForCausalLM if is_of_text else AutoModelForImageTextToText


def _exchange_head(configuration: Configuration, path: Path) -> None:
    """Change the output matrix in the file as `configuration.head` says."""
    if configuration.head == "as saved":
        return
    tensors = load_file(path)
    embedding = next(name for name in tensors if name.endswith(EMBEDDING))
    head = next((name for name in tensors if name.endswith(HEAD)), HEAD)
    match configuration.head:
        case "another":
            tensors[head] = tensors[embedding].flip(0).contiguous()
        case "the same":
            tensors[head] = tensors[embedding].clone()
        case "missing":
            tensors.pop(head, None)
        case "alone":
            tensors[head] = tensors.pop(embedding)
    save_file(tensors, path, metadata={"format": "pt"})


def random_weights(
    name: str, shape: tuple[int, ...], seed: int, *, is_gemma: bool, is_offset: bool
) -> NDArray[np.float32]:
    """Weights that keep activations near one, with attention and logits of some spread.

    `is_offset`: gains are one more than the norms of layers store.
    """
    normal = np.random.default_rng([seed, zlib.crc32(name.encode())]).standard_normal(shape)
    if name.endswith((".bias", "std_bias")):
        values = 0.5 * normal
    elif name.endswith(("_min", "_max")):
        values = (0.3 + np.abs(normal)) * (-1 if name.endswith("_min") else 1)
    elif name.endswith(".A_log"):
        values = normal - 2.0  # decays near one, so that delta nets have a long memory
    elif len(shape) == 1:
        values = 0.3 * normal + (0.0 if is_offset and not name.endswith("linear_attn.norm.weight") else 1.0)
    elif "embed" in name or "lm_head" in name:
        values = (0.7 if is_gemma else 2.0) * normal / np.sqrt(shape[-1])
    else:
        values = 1.2 * normal / np.sqrt(shape[-1])
    return np.asarray(values, np.float32)


def picture_inputs(configuration: Configuration) -> Inputs:
    """The arguments of the model's class for the configuration's pictures; none without any."""
    if not configuration.pictures:
        return {}
    return inputs_of(configuration.config, PROCESSOR, configuration.pictures)


def log_probabilities(
    directory: Path, prompt_ids: list[int], inputs: Inputs, dtype: torch.dtype = torch.float32
) -> NDArray[np.float64]:
    """Of every token after each position of the prompt, (tokens, vocab), by eager attention.

    Raises NoReference, for an incomplete checkpoint too: transformers fills what is missing with noise.
    """
    try:
        model, found = _class_for(directory).from_pretrained(
            directory,
            dtype=dtype,
            attn_implementation="eager",
            experts_implementation="eager",
            trust_remote_code=False,
            output_loading_info=True,
        )
        if found["missing_keys"] or found["mismatched_keys"]:
            raise Incomplete(f"tensors are missing: {sorted(found['missing_keys'])[:2]}")
        return _forward(model.eval(), prompt_ids, inputs)
    except NoReference:
        raise
    except Exception as error:
        raise NoReference(f"{type(error).__name__}: {error}") from error


@torch.no_grad()
def _forward(model: PreTrainedModel, prompt_ids: list[int], inputs: Inputs) -> NDArray[np.float64]:
    ids = torch.tensor([prompt_ids])
    types = token_types_of(model.config, ids) if inputs else {}
    inputs = {name: each.to(model.dtype) if each.is_floating_point() else each for name, each in inputs.items()}
    logits = model(input_ids=ids, use_cache=False, **types, **inputs).logits[0].double()
    if not bool(torch.isfinite(logits).all()):
        raise NoReference("its logits are not finite")
    found: NDArray[np.float64] = torch.log_softmax(logits, dim=-1).numpy()
    return found
