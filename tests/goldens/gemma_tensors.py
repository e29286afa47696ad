"""The metadata of Gemma 3n and Gemma 4 in GGUF files, and the tensors of Gemma 3n's streams there."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray

from tests.goldens.gguf_ropes import rope_parameters


def write_gemma3n(writer: gguf.GGUFWriter, config: dict[str, Any]) -> None:
    """The streams, the inputs of each layer, and the gates that are cut: minus infinity where none are."""
    writer.add_sliding_window_pattern([kind == "sliding_attention" for kind in config["layer_types"]])
    writer.add_altup_num_inputs(config["altup_num_inputs"])
    writer.add_altup_active_idx(config["altup_active_idx"])
    writer.add_embedding_length_per_layer_input(config["hidden_size_per_layer_input"])
    writer.add_shared_kv_layers(config["num_kv_shared_layers"])
    writer.add_final_logit_softcapping(config["final_logit_softcapping"])
    shares = config["activation_sparsity_pattern"]
    scales = [NormalDist().inv_cdf(each) if each else -math.inf for each in shares]
    writer.add_activation_sparsity_scale(scales)


def write_gemma4(writer: gguf.GGUFWriter, config: dict[str, Any]) -> None:
    """The settings that differ between layers: arrays, and keys that end in `_swa` for layers with a window."""
    slides = [kind == "sliding_attention" for kind in config["layer_types"]]
    writer.add_sliding_window_pattern(slides)
    writer.add_key_length(config["global_head_dim"])
    writer.add_value_length(config["global_head_dim"])
    writer.add_key_length_swa(config["head_dim"])
    writer.add_value_length_swa(config["head_dim"])
    writer.add_rope_dimension_count(config["global_head_dim"])
    writer.add_rope_dimension_count_swa(config["head_dim"])
    writer.add_rope_freq_base_swa(rope_parameters(config)["rope_local_base_freq"])
    if config["final_logit_softcapping"] is not None:
        writer.add_final_logit_softcapping(config["final_logit_softcapping"])
    writer.add_embedding_length_per_layer_input(config["hidden_size_per_layer_input"])
    writer.add_shared_kv_layers(config["num_kv_shared_layers"])
    if (num_full := config["num_global_key_value_heads"]) is not None:
        writer.add_head_count_kv([config["num_key_value_heads"] if each else num_full for each in slides])
    if config["use_double_wide_mlp"]:
        size, first = config["intermediate_size"], len(slides) - config["num_kv_shared_layers"]
        writer.add_feed_forward_length([size if index < first else 2 * size for index in range(len(slides))])
    if config["enable_moe_block"]:
        writer.add_expert_used_count(config["top_k_experts"])
        writer.add_expert_feed_forward_length(config["moe_intermediate_size"])


def with_stacked_projections(tensors: dict[str, NDArray[np.float32]]) -> dict[str, NDArray[np.float32]]:
    """The projections between Gemma 3n's streams as one tensor (streams - 1, outputs, inputs) of each kind."""
    found = {name: values for name, values in tensors.items() if "_projections." not in name}
    for kind in ("altup_projections", "altup_unembed_projections"):
        parts = sorted(name for name in tensors if name.startswith(f"model.{kind}."))
        found[f"model.{kind}.weight"] = np.stack([tensors[name] for name in parts])
    return found
