"""Qwen3-VL with experts (Bai et al. 2025): Qwen3-VL with a mixture of many small experts in most layers."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from cactus_actors.models.gguf_file import GGUFFile
from cactus_actors.workers.families import llama, qwen3_moe, qwen3_vl, qwen_mmproj
from cactus_actors.workers.families.decoder_parts import normed_queries_keys_values
from cactus_actors.workers.families.family import Family, decoder_from_json
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.experts_config import STACK, experts_from_json
from cactus_actors.workers.spec.model_config import ModelConfig
from cactus_actors.workers.vision import qwen_vision

# Defaults of Qwen3VLMoeTextConfig of transformers for missing keys.
TEXT_DEFAULTS = {
    "vocab_size": 151936,
    "hidden_size": 2048,
    "intermediate_size": 5632,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "num_key_value_heads": 16,
    "max_position_embeddings": 128000,
    "moe_intermediate_size": 1408,
    "num_experts": 60,
    "num_experts_per_tok": 4,
    "decoder_sparse_step": 1,
    "mlp_only_layers": [],
    "rope_theta": 500000.0,
}


def read_json(keys: ConfigKeys) -> ModelConfig:
    """The keys of Qwen3VLMoeForConditionalGeneration."""
    text_keys = qwen3_vl.checked_text_keys(keys, "qwen3_vl_moe_text", TEXT_DEFAULTS)
    # transformers 5 writes num_local_experts
    count_key = "num_experts" if text_keys.get("num_local_experts") is None else "num_local_experts"
    config = decoder_from_json(
        text_keys,
        FAMILY.name,
        layers=qwen3_moe.layers_from_json(text_keys.replaced(use_sliding_window=False)),
        experts=experts_from_json(text_keys, count_key, "moe_intermediate_size", normalised=True),
        biases="attention",
    )
    return qwen3_vl.with_encoder(keys, text_keys, config)


def read_gguf(keys: ConfigKeys, file: GGUFFile) -> ModelConfig:
    """The metadata below `qwen3vlmoe.`: the text part alone; every layer has experts there."""
    return replace(qwen3_moe.read_gguf(keys, file), family=FAMILY.name)


FAMILY = Family(
    name="Qwen3-VL MoE",
    examples="Qwen3-VL 30B-A3B, 235B-A22B",
    architectures=("Qwen3VLMoeForConditionalGeneration",),
    model_types=("qwen3_vl_moe",),
    gguf_architectures=("qwen3vlmoe",),
    has_experts=True,
    read_json=read_json,
    read_gguf=read_gguf,
    forward=partial(llama.forward, project=normed_queries_keys_values, feed_forward=qwen3_moe.feed_forward),
    encode=qwen_vision.encode,
    mmproj=qwen_mmproj.MMPROJ,
    gguf_names=qwen3_moe.FAMILY.gguf_names,
    stacked_names={
        "mlp.experts.gate_up_proj": (f"mlp.experts{STACK}gate_proj", f"mlp.experts{STACK}up_proj"),
        "mlp.experts.down_proj": (f"mlp.experts{STACK}down_proj",),
    },
    has_transposed_stacks=True,
)
