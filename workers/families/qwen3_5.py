"""Qwen3.5 (Qwen Team 2026), the dense models: three gated delta nets before each gated attention."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cactus_actors.models.gguf_file import GGUFFile
from cactus_actors.workers.families import qwen3_5_mtp, qwen_mmproj
from cactus_actors.workers.families.decoder_parts import gated_network
from cactus_actors.workers.families.family import GGUF_NAMES, Family, decoder_from_gguf, decoder_from_json
from cactus_actors.workers.runtime import recurrence
from cactus_actors.workers.runtime.graph import Graph, Value
from cactus_actors.workers.spec.attention_heads import heads_from_json
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.model_config import Layer, ModelConfig, RecurrentHeads
from cactus_actors.workers.spec.qwen_vision_config import with_pictures
from cactus_actors.workers.spec.recurrence_config import checked, recurrent_heads_from_gguf
from cactus_actors.workers.spec.rope_config import rope_from_json
from cactus_actors.workers.vision import qwen_vision

# Defaults of Qwen3_5TextConfig of transformers for missing keys.
DEFAULTS = {
    "vocab_size": 248320,
    "hidden_size": 4096,
    "intermediate_size": 12288,
    "num_hidden_layers": 32,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "max_position_embeddings": 32768,
    "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 128,
    "linear_value_head_dim": 128,
    "linear_num_key_heads": 16,
    "linear_num_value_heads": 32,
    "full_attention_interval": 4,
    "partial_rotary_factor": 0.25,
}
IMAGE_TOKEN_ID = 248056
SECTIONS = (11, 11, 10)
LINEAR, FULL = "linear_attention", "full_attention"


def forward(
    g: Graph,
    c: ModelConfig,
    *,
    feed_forward: Callable[[Graph, ModelConfig, Value, Layer, str], Value] = gated_network,
) -> None:
    """Pre-norm blocks of a delta net or attention, and a SiLU-gated network; gains are 1 + weight."""
    x = g.embed("embed_tokens")  # (tokens, hidden)
    for index, layer in enumerate(c.layers):
        name = f"layers.{index}"
        h = g.rms_norm(x, f"{name}.input_layernorm", plus_one=True)
        if layer.kind == "delta":
            x = x + delta_net(g, c, h, f"{name}.linear_attn")
        else:
            x = x + gated_attention(g, c, h, layer, f"{name}.self_attn")

        h = g.rms_norm(x, f"{name}.post_attention_layernorm", plus_one=True)
        x = x + feed_forward(g, c, h, layer, name)
    head = "embed_tokens" if c.tie_embeddings else "lm_head"
    if c.draft_layer is None:
        g.output(x, "norm", head, plus_one=True)
    else:
        qwen3_5_mtp.output_with_drafter(g, c, x, head, feed_forward)


def delta_net(g: Graph, c: ModelConfig, h: Value, name: str) -> Value:
    """A gated delta rule on queries, keys and values after a short convolution (Yang et al. 2024)."""
    d = c.recurrent_heads
    assert d is not None, "the config describes it"
    projected = g.linear(h, [f"{name}.in_proj_qkv", f"{name}.in_proj_z"], [d.mixed_size, d.value_size])
    # Errors of decays add up over the positions.
    rates = g.linear(h, [f"{name}.in_proj_b", f"{name}.in_proj_a"], [d.num_value_heads] * 2, is_fine=True)
    mixed = recurrence.causal_conv(g, projected, f"{name}.conv1d", d.mixed_size, room=2 * d.num_value_heads)
    recurrence.delta_gates(g, rates, mixed, d, (f"{name}.A_log", f"{name}.dt_bias"), d.mixed_size)
    recurrence.unit_heads(g, mixed, d)
    read = recurrence.delta_rule(g, mixed, d, scale=d.key_dim**-0.5)  # (tokens, value heads * value_dim)
    recurrence.gated_norm(g, read, projected, d, f"{name}.norm", d.mixed_size)
    return g.linear(read, [f"{name}.out_proj"], [c.hidden_size])


def gated_attention(g: Graph, c: ModelConfig, h: Value, layer: Layer, name: str) -> Value:
    """Attention with normed queries and keys; a sigmoid gates what each head has read."""
    qkv = g.gated_queries_keys_values(h, [f"{name}.{part}_proj" for part in "qkv"])
    g.norm_heads(qkv, 0, c.num_heads, f"{name}.q_norm", plus_one=True)
    g.norm_heads(qkv, c.query_size, c.num_kv_heads, f"{name}.k_norm", plus_one=True)
    attended = g.attention(qkv, rope=layer.rope)  # (tokens, heads * head_dim)
    g.sigmoid_gate(attended, qkv, c.query_size + 2 * c.kv_size)
    return g.linear(attended, [f"{name}.o_proj"], [c.hidden_size])


def read_json(keys: ConfigKeys) -> ModelConfig:
    """The keys of Qwen3_5ForCausalLM, or of Qwen3_5ForConditionalGeneration."""
    text = text_keys(keys, DEFAULTS)
    return with_encoder(keys, text, config_from_text(text, FAMILY.name))


def with_encoder(keys: ConfigKeys, text: ConfigKeys, config: ModelConfig) -> ModelConfig:
    """The model with its encoder of pictures, if `keys` describe one; `text` are the keys of the text part."""
    if keys.get("vision_config") is None or keys.get("text_config") is None:
        return config
    return with_pictures(keys, text, config, image_token_id=IMAGE_TOKEN_ID, sections=SECTIONS)


def text_keys(keys: ConfigKeys, defaults: Mapping[str, Any]) -> ConfigKeys:
    """The keys of the text part, or of a model that has no other."""
    keys.require_one_of("quantization_config", None)
    if keys.get("text_config") is not None:
        tied = keys.boolean("tie_word_embeddings", default=False)
        keys = keys.below("text_config").replaced(tie_word_embeddings=tied)
    return keys.with_defaults(**defaults)


def config_from_text(keys: ConfigKeys, family: str, *, has_experts: bool = False, **special: Any) -> ModelConfig:
    """The config of a text part; `special` adds to it."""
    keys.require_one_of("hidden_act", "silu", None)
    keys.require_one_of("attention_bias", False, None)
    keys.require_one_of("attn_output_gate", True, None)
    return decoder_from_json(
        keys,
        family,
        layers=tuple(replace(layer, has_experts=has_experts) for layer in _layers_from_json(keys)),
        ropes=(rope_from_json(keys, heads_from_json(keys).head_dim, rotates_part=True),),
        num_taps=keys.integer("linear_conv_kernel_dim", "num_taps"),
        recurrent_heads=_delta_net_from_json(keys),
        **special,
    )


def _layers_from_json(keys: ConfigKeys) -> tuple[Layer, ...]:
    num_layers = keys.integer("num_hidden_layers", "num_layers")
    if keys.get("layer_types") is None:
        interval = keys.integer("full_attention_interval", "num_layers")
        return _layers_where([(index + 1) % interval == 0 for index in range(num_layers)])
    kinds = keys.strings("layer_types", num_layers)
    keys.require(set(kinds) <= {LINEAR, FULL}, "layer_types", f"{LINEAR} and {FULL}")
    return _layers_where([kind == FULL for kind in kinds])


def _layers_where(attends: list[bool]) -> tuple[Layer, ...]:
    return tuple(Layer(kind="attention" if each else "delta") for each in attends)


def _delta_net_from_json(keys: ConfigKeys) -> RecurrentHeads:
    delta_net = RecurrentHeads(
        num_key_heads=keys.integer("linear_num_key_heads", "num_heads"),
        key_dim=keys.integer("linear_key_head_dim", "head_dim"),
        num_value_heads=keys.integer("linear_num_value_heads", "num_heads"),
        value_dim=keys.integer("linear_value_head_dim", "head_dim"),
    )
    return checked(keys, delta_net, "linear_num_value_heads")


def read_gguf(keys: ConfigKeys, file: GGUFFile) -> ModelConfig:
    """The metadata below `qwen35.`."""
    return config_from_gguf(keys, file, FAMILY.name)


def config_from_gguf(
    keys: ConfigKeys, file: GGUFFile, family: str, *, has_experts: bool = False, **special: Any
) -> ModelConfig:
    """The config of a GGUF file; layers after the model's own, for drafts, do not count."""
    num_spare = keys.integer("nextn_predict_layers", "count", 0)
    num_layers = keys.integer("block_count", "num_layers") - num_spare
    keys.require(num_layers > 0, "nextn_predict_layers", "fewer than all layers")
    return decoder_from_gguf(
        keys.replaced(block_count=num_layers),
        file,
        family,
        layers=tuple(replace(layer, has_experts=has_experts) for layer in _layers_from_gguf(keys, num_layers)),
        num_taps=keys.integer("ssm.conv_kernel", "num_taps"),
        recurrent_heads=recurrent_heads_from_gguf(keys),
        **special,
    )


def _layers_from_gguf(keys: ConfigKeys, num_layers: int) -> tuple[Layer, ...]:
    key = "attention.recurrent_layers"
    if keys.get(key) is None:
        interval = keys.integer("full_attention_interval", "num_layers", 4)
        return _layers_where([(index + 1) % interval == 0 for index in range(num_layers)])
    given = keys.get(key)
    is_valid = isinstance(given, list) and len(given) >= num_layers and all(each in (0, 1) for each in given)
    keys.require(is_valid, key, f"true or false for each of {num_layers} layers")
    return _layers_where([not each for each in given[:num_layers]])


def as_in_hugging_face(config: ModelConfig, name: str, tensor: NDArray[np.float32]) -> NDArray[np.float32]:
    """A tensor as in Hugging Face files.

    GGUF files contain 1 + weight of most norms and -exp(A), and the value heads in another order: the first of
    every key head, then the second of every key head, and so on.
    """
    if name.endswith(("norm", "norm_embedding", "norm_hidden")):
        return tensor if name.endswith("linear_attn.norm") else tensor - np.float32(1)
    *_, module, part = ("", *name.split("."))
    if module != "linear_attn":
        return tensor
    d = config.recurrent_heads
    assert d is not None, "a layer has a delta net"
    if part == "A_log":
        tensor = np.log(-tensor.astype(np.float64)).astype(np.float32)
    if part == "out_proj":
        return np.ascontiguousarray(_by_key_head(d, tensor.T).T)
    num_others = tensor.shape[0] - d.value_size if part in ("in_proj_qkv", "conv1d") else 0  # queries and keys
    return np.concatenate([tensor[:num_others], _by_key_head(d, tensor[num_others:])])


def _by_key_head(d: RecurrentHeads, rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows of the value heads, with those of one key head side by side."""
    heads = rows.reshape(d.num_value_heads // d.num_key_heads, d.num_key_heads, -1)
    return heads.swapaxes(0, 1).reshape(rows.shape)


FAMILY = Family(
    name="Qwen3.5",
    examples="Qwen3.5 0.8B, 2B, 4B, 9B, 27B",
    architectures=("Qwen3_5ForCausalLM", "Qwen3_5ForConditionalGeneration"),
    model_types=("qwen3_5_text", "qwen3_5"),
    gguf_architectures=("qwen35",),
    read_json=read_json,
    read_gguf=read_gguf,
    forward=forward,
    encode=qwen_vision.encode,
    mmproj=replace(qwen_mmproj.MMPROJ, join=qwen_mmproj.without_features),
    unused=("mtp.",),
    draft_head=qwen3_5_mtp.HEAD,
    gguf_names={
        **GGUF_NAMES,
        "post_attention_norm": "post_attention_layernorm",
        "attn_qkv": "linear_attn.in_proj_qkv",
        "attn_gate": "linear_attn.in_proj_z",
        "ssm_beta": "linear_attn.in_proj_b",
        "ssm_alpha": "linear_attn.in_proj_a",
        "ssm_conv1d": "linear_attn.conv1d",
        "ssm_a": "linear_attn.A_log",
        "ssm_dt.bias": "linear_attn.dt_bias",
        "ssm_norm": "linear_attn.norm",
        "ssm_out": "linear_attn.out_proj",
        **qwen3_5_mtp.GGUF_NAMES,
    },
    adjust_gguf=as_in_hugging_face,
)
