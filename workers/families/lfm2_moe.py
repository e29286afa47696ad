"""LFM2 with experts (Liquid AI 2025): LFM2 with sigmoid-weighted experts in all layers but the first ones."""

from __future__ import annotations

from functools import partial

from cactus_actors.models.gguf_file import GGUFFile
from cactus_actors.workers.families import lfm2
from cactus_actors.workers.families.decoder_parts import experts
from cactus_actors.workers.families.family import Family, decoder_from_gguf, decoder_from_json
from cactus_actors.workers.runtime.graph import Graph, Value
from cactus_actors.workers.spec.attention_heads import KV_HEADS, attention_layers_of_gguf
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.experts_config import sigmoid_experts_from_gguf, sigmoid_experts_from_json, stack_names
from cactus_actors.workers.spec.model_config import Layer, ModelConfig

# Defaults of Lfm2MoeConfig of transformers for missing keys.
DEFAULTS = {
    "intermediate_size": 7168,
    "moe_intermediate_size": 1792,
    "num_key_value_heads": 8,
    "max_position_embeddings": 128_000,
    "norm_eps": 1e-5,
    "rope_theta": 1e6,
    "conv_L_cache": 3,
    "num_dense_layers": 2,
    "num_experts_per_tok": 4,
    "num_experts": 32,
}


def feed_forward(g: Graph, c: ModelConfig, h: Value, layer: Layer, name: str) -> Value:
    """Experts, or one SiLU-gated network."""
    if not layer.has_experts:
        return lfm2.feed_forward(g, c, h, layer, name)
    return experts(g, c, h, f"{name}.feed_forward", gate="w1", up="w3", down="w2")


def read_json(keys: ConfigKeys) -> ModelConfig:
    """The keys of Lfm2MoeForCausalLM."""
    keys = keys.with_defaults(**DEFAULTS)
    keys.require_one_of("conv_bias", False, None)
    num_layers = keys.integer("num_hidden_layers", "num_layers")
    kinds = keys.strings("layer_types", num_layers)
    keys.require(set(kinds) <= {"conv", "full_attention"}, "layer_types", "conv and full_attention")
    tied = "tie_word_embeddings" if keys.get("tie_embedding") is None else "tie_embedding"
    return decoder_from_json(
        keys,
        FAMILY.name,
        layers=_layers([kind != "conv" for kind in kinds], keys.integer("num_dense_layers", "num_dense_layers")),
        norm_eps=keys.number("norm_eps", "norm_eps"),
        tie_embeddings=keys.boolean(tied, default=True),
        num_taps=keys.integer("conv_L_cache", "num_taps"),
        experts=sigmoid_experts_from_json(keys, has_bias=keys.boolean("use_expert_bias", default=True)),
    )


def _layers(attends: list[bool], num_dense: int) -> tuple[Layer, ...]:
    return tuple(
        Layer(kind="attention" if each else "conv", has_experts=index >= num_dense)
        for index, each in enumerate(attends)
    )


def read_gguf(keys: ConfigKeys, file: GGUFFile) -> ModelConfig:
    """The metadata below `lfm2moe.`; the weights of experts are normalised there."""
    attends, num_kv_heads = attention_layers_of_gguf(keys)
    num_dense = keys.integer("leading_dense_block_count", "num_dense_layers", 0)
    return decoder_from_gguf(
        keys.replaced(**{KV_HEADS: num_kv_heads}),
        file,
        FAMILY.name,
        layers=_layers(attends, num_dense),
        num_taps=keys.integer("shortconv.l_cache", "num_taps"),
        experts=sigmoid_experts_from_gguf(keys, has_bias=f"blk.{num_dense}.exp_probs_b.bias" in file.tensors),
    )


FAMILY = Family(
    name="LFM2 MoE",
    examples="LFM2 8B-A1B, LFM2 24B-A2B",
    architectures=("Lfm2MoeForCausalLM",),
    model_types=("lfm2_moe",),
    gguf_architectures=("lfm2moe",),
    has_experts=True,
    read_json=read_json,
    read_gguf=read_gguf,
    forward=partial(lfm2.forward, feed_forward=feed_forward),
    gguf_names={
        **lfm2.NAMES_OF_GGUF,
        "ffn_gate_inp": "feed_forward.gate",
        "exp_probs_b.bias": "feed_forward.expert_bias",
        **stack_names("feed_forward.experts", gate="w1", up="w3", down="w2"),
    },
)
