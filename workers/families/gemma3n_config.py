"""The configs of Gemma 3n: layers with and without a window, the last of which have no keys, and residual streams."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

from cactus_actors.models.checked_files import invalid
from cactus_actors.models.gguf_file import GGUFFile
from cactus_actors.workers.families import gemma3
from cactus_actors.workers.families.family import decoder_from_gguf, decoder_from_json
from cactus_actors.workers.families.gemma4_config import FULL, SLIDING, of_each_layer, sources_of
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.model_config import Layer, ModelConfig, PerLayerInputs, ResidualStreams
from cactus_actors.workers.spec.sliding_window import (
    window_from_gguf,
    window_from_json,
    windows_from_gguf,
    windows_from_json,
)

NAME = "Gemma 3n"
PERIOD = 5  # of layers, the last of which has no window, where the files do not say
NUM_SPARSE, SPARSITY = 10, 0.95  # the first layers of models with more, where the files do not say
# Defaults of Gemma3nTextConfig of transformers for missing keys.
DEFAULTS = {
    "vocab_size": 262_400,
    "hidden_size": 2048,
    "intermediate_size": 16_384,
    "num_hidden_layers": 35,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "head_dim": 256,
    "hidden_activation": "gelu_pytorch_tanh",
    "max_position_embeddings": 32_768,
    "tie_word_embeddings": True,
    "rope_theta": 1000000.0,
    "rope_local_base_freq": 10000.0,
    "sliding_window": 512,
    "final_logit_softcapping": 30.0,
    "vocab_size_per_layer_input": 262_144,
    "hidden_size_per_layer_input": 256,
    "altup_active_idx": 0,
    "altup_correct_scale": True,
    "altup_num_inputs": 4,
    "num_kv_shared_layers": 15,
    "laurel_rank": 64,
}


def read_json(keys: ConfigKeys) -> ModelConfig:
    """The keys of Gemma3nForCausalLM, or of the text part of Gemma3nForConditionalGeneration."""
    keys.require_one_of("quantization_config", None)
    if keys.get("text_config") is not None:
        tied = keys.boolean("tie_word_embeddings", default=True)
        # As in transformers, the text part's own key of this name is ignored.
        keys = keys.below("text_config").replaced(tie_word_embeddings=tied)
    keys = keys.with_defaults(**DEFAULTS)
    keys.require_one_of("hidden_activation", "gelu_pytorch_tanh")
    windows = windows_from_json(keys, window_from_json(keys), lambda index: (index + 1) % PERIOD != 0)
    ffn_sizes = of_each_layer(keys, "intermediate_size", len(windows))
    inputs = PerLayerInputs(
        size=keys.integer("hidden_size_per_layer_input", "ffn_size"),
        vocab_size=keys.integer("vocab_size_per_layer_input", "vocab_size"),
    )
    return decoder_from_json(
        keys.replaced(intermediate_size=min(ffn_sizes)),
        NAME,
        layers=_layers(keys, "num_kv_shared_layers", windows, ffn_sizes, _cutoffs_from_json(keys, len(windows))),
        ropes=gemma3.ropes_from_json(keys),
        attention_scale=1.0,
        logit_softcap=keys.number("final_logit_softcapping", "softcap", 0.0),
        per_layer_inputs=inputs,
        streams=_streams(keys, "altup_num_inputs", "altup_active_idx", keys.integer("laurel_rank", "rank")),
        biases="attention",
    )


def _layers(
    keys: ConfigKeys,
    shared_key: str,
    windows: Sequence[int],
    ffn_sizes: Sequence[int],
    cutoffs: Sequence[float | None],
) -> tuple[Layer, ...]:
    sources = sources_of(keys, shared_key, [SLIDING if window else FULL for window in windows])
    return tuple(
        Layer(
            window=window,
            rope=gemma3.LOCAL if window else gemma3.GLOBAL,
            ffn_size=ffn_size,
            kv_layer=source,
            gate_cutoff=cutoff,
        )
        for window, ffn_size, source, cutoff in zip(windows, ffn_sizes, sources, cutoffs, strict=True)
    )


def _cutoffs_from_json(keys: ConfigKeys, num_layers: int) -> list[float | None]:
    """Standard deviations that normally distributed gates exceed with a probability of 1 - sparsity."""
    key = "activation_sparsity_pattern"
    if keys.get(key) is None:
        num_sparse = NUM_SPARSE if num_layers > NUM_SPARSE else 0
        shares = [SPARSITY] * num_sparse + [0.0] * (num_layers - num_sparse)
    else:
        shares = keys.numbers(key, num_layers, default=0.0)
    keys.require(all(0 <= each < 1 for each in shares), key, "numbers from 0 to below 1")
    return [NormalDist().inv_cdf(each) if each else None for each in shares]


def _streams(keys: ConfigKeys, count_key: str, active_key: str, rank: int) -> ResidualStreams:
    num_streams, active = keys.integer(count_key, "num_streams"), keys.integer(active_key, "count")
    keys.require(active < num_streams, active_key, f"0 to {num_streams - 1}")
    has_gains = keys.boolean("altup_correct_scale", default=True)
    return ResidualStreams(num_streams, active, rank, has_gains)


def read_gguf(keys: ConfigKeys, file: GGUFFile) -> ModelConfig:
    """The metadata below `gemma3n.`; sizes that it has not are those of tensors."""
    windows = windows_from_gguf(keys, window_from_gguf(keys), PERIOD)
    ffn_sizes = of_each_layer(keys, "feed_forward_length", len(windows))
    inputs = PerLayerInputs(
        size=keys.integer("embedding_length_per_layer_input", "ffn_size"),
        vocab_size=_num_rows(file, "per_layer_token_embd.weight"),
    )
    return decoder_from_gguf(
        keys.replaced(feed_forward_length=min(ffn_sizes)),
        file,
        NAME,
        layers=_layers(keys, "attention.shared_kv_layers", windows, ffn_sizes, _cutoffs_from_gguf(keys, len(windows))),
        ropes=gemma3.ropes_from_gguf(keys, file),
        attention_scale=1.0,
        logit_softcap=keys.number("final_logit_softcapping", "softcap", 30.0),
        per_layer_inputs=inputs,
        streams=_streams(keys, "altup.num_inputs", "altup.active_idx", _num_rows(file, "blk.0.laurel_l.weight")),
    )


def _cutoffs_from_gguf(keys: ConfigKeys, num_layers: int) -> list[float | None]:
    """The standard deviations of each layer, minus infinity for layers that keep all gates."""
    key = "activation_sparsity_scale"
    given = keys.get(key)
    are_numbers = isinstance(given, list) and len(given) == num_layers and all(type(each) is float for each in given)
    keys.require(are_numbers and all(each < float("inf") for each in given), key, f"{num_layers} numbers")
    return [each if each > float("-inf") else None for each in given]


def _num_rows(file: GGUFFile, name: str) -> int:
    """Rows of a matrix."""
    if name not in file.tensors or len(file.tensors[name].shape) != 2:
        raise invalid(file.path, f"tensor {name!r} of two dimensions is missing")
    return file.tensors[name].shape[0]
