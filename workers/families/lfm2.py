"""LFM2 (Liquid AI 2025): most layers mix tokens by a gated convolution of a few taps, some by attention."""

from __future__ import annotations

from collections.abc import Callable

from cactus_actors.models.gguf_file import GGUFFile
from cactus_actors.workers.families.decoder_parts import queries_keys_values
from cactus_actors.workers.families.family import GGUF_NAMES, Family, decoder_from_gguf, decoder_from_json
from cactus_actors.workers.runtime.graph import Graph, Value
from cactus_actors.workers.spec.attention_heads import KV_HEADS, attention_layers_of_gguf
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.model_config import Layer, ModelConfig

# Defaults of Lfm2Config of transformers for missing keys.
DEFAULTS = {
    "intermediate_size": 12288,
    "num_key_value_heads": 8,
    "max_position_embeddings": 128_000,
    "norm_eps": 1e-5,
    "rope_theta": 1e6,
    "tie_word_embeddings": True,
    "block_multiple_of": 256,
    "conv_L_cache": 3,
}


def feed_forward(g: Graph, c: ModelConfig, h: Value, _layer: Layer, name: str) -> Value:
    """A SiLU-gated network, (tokens, hidden); `name` is that of the layer."""
    gate_up = g.linear(  # (tokens, 2 ffn)
        h, [f"{name}.feed_forward.w1", f"{name}.feed_forward.w3"], [c.ffn_size] * 2
    )
    return g.linear(g.silu_gate(gate_up), [f"{name}.feed_forward.w2"], [c.hidden_size])


def forward(
    g: Graph,
    c: ModelConfig,
    *,
    feed_forward: Callable[[Graph, ModelConfig, Value, Layer, str], Value] = feed_forward,
) -> None:
    """Pre-norm blocks of a short convolution or grouped-query attention, and a SiLU-gated network."""
    x = g.embed("embed_tokens")  # (tokens, hidden)
    for index, layer in enumerate(c.layers):
        name = f"layers.{index}"
        h = g.rms_norm(x, f"{name}.operator_norm")
        if layer.kind == "conv":
            x = x + short_conv(g, c, h, f"{name}.conv")
        else:
            x = x + _attention(g, c, h, layer, f"{name}.self_attn")

        h = g.rms_norm(x, f"{name}.ffn_norm")
        x = x + feed_forward(g, c, h, layer, name)
    g.output(x, "embedding_norm", "embed_tokens" if c.tie_embeddings else "lm_head")


def short_conv(g: Graph, c: ModelConfig, h: Value, name: str) -> Value:
    """A gated convolution along the positions, between two projections, (tokens, hidden)."""
    projected = g.linear(h, [f"{name}.in_proj"], [3 * c.hidden_size])  # B, C and x of each token
    mixed = g.short_conv(projected, f"{name}.conv")  # (tokens, hidden)
    return g.linear(mixed, [f"{name}.out_proj"], [c.hidden_size])


def _attention(g: Graph, c: ModelConfig, h: Value, layer: Layer, name: str) -> Value:
    qkv = queries_keys_values(g, c, h, name)  # (tokens, (heads + 2 kv_heads) * head_dim)
    g.norm_heads(qkv, 0, c.num_heads, f"{name}.q_layernorm")
    g.norm_heads(qkv, c.query_size, c.num_kv_heads, f"{name}.k_layernorm")
    attended = g.attention(qkv, rope=layer.rope)  # (tokens, heads * head_dim)
    return g.linear(attended, [f"{name}.out_proj"], [c.hidden_size])


def read_json(keys: ConfigKeys) -> ModelConfig:
    """The keys of Lfm2ForCausalLM."""
    keys = keys.with_defaults(**DEFAULTS)
    keys.require_one_of("conv_bias", False, None)
    tied = "tie_word_embeddings" if keys.get("tie_embedding") is None else "tie_embedding"
    return decoder_from_json(
        keys.replaced(intermediate_size=_ffn_size(keys)),
        FAMILY.name,
        layers=_layers(keys),
        norm_eps=keys.number("norm_eps", "norm_eps"),
        tie_embeddings=keys.boolean(tied, default=True),
        num_taps=keys.integer("conv_L_cache", "num_taps"),
    )


def _ffn_size(keys: ConfigKeys) -> int:
    """The width of the network; the config has the value before it is cut to two thirds and rounded up."""
    given = "intermediate_size" if keys.get("block_ff_dim") is None else "block_ff_dim"
    size = keys.integer(given, "ffn_size")
    if not keys.boolean("block_auto_adjust_ff_dim", default=True):
        return size
    size = int(keys.number("block_ffn_dim_multiplier", "factor", 1.0) * int(2 * size / 3))
    multiple = keys.integer("block_multiple_of", "ffn_size")
    return -(-size // multiple) * multiple


def _layers(keys: ConfigKeys) -> tuple[Layer, ...]:
    num_layers = keys.integer("num_hidden_layers", "num_layers")
    if keys.get("layer_types") is not None:
        kinds = keys.strings("layer_types", num_layers)
        keys.require(set(kinds) <= {"conv", "full_attention"}, "layer_types", "conv and full_attention")
        return _layers_where([kind == "full_attention" for kind in kinds])
    if keys.get("full_attn_idxs") is None:
        return _layers_where([True] * num_layers)
    attends = set(keys.indices("full_attn_idxs", num_layers))
    return _layers_where([index in attends for index in range(num_layers)])


def _layers_where(attends: list[bool]) -> tuple[Layer, ...]:
    return tuple(Layer(kind="attention" if each else "conv") for each in attends)


def read_gguf(keys: ConfigKeys, file: GGUFFile) -> ModelConfig:
    """The metadata below `lfm2.`; layers without key-value heads are convolutions."""
    attends, num_kv_heads = attention_layers_of_gguf(keys)
    return decoder_from_gguf(
        keys.replaced(**{KV_HEADS: num_kv_heads}),
        file,
        FAMILY.name,
        layers=_layers_where(attends),
        num_taps=keys.integer("shortconv.l_cache", "num_taps"),
    )


NAMES_OF_GGUF = {
    **GGUF_NAMES,
    "token_embd_norm": "embedding_norm",
    "output_norm": "embedding_norm",
    "attn_norm": "operator_norm",
    "attn_q_norm": "self_attn.q_layernorm",
    "attn_k_norm": "self_attn.k_layernorm",
    "attn_output": "self_attn.out_proj",
    "shortconv.in_proj": "conv.in_proj",
    "shortconv.conv": "conv.conv",
    "shortconv.out_proj": "conv.out_proj",
    "ffn_norm": "ffn_norm",
    "ffn_gate": "feed_forward.w1",
    "ffn_up": "feed_forward.w3",
    "ffn_down": "feed_forward.w2",
}

FAMILY = Family(
    name="LFM2",
    examples="LFM2 350M, 700M, 1.2B, 2.6B; LFM2.5 1.2B",
    architectures=("Lfm2ForCausalLM",),
    model_types=("lfm2",),
    gguf_architectures=("lfm2",),
    read_json=read_json,
    read_gguf=read_gguf,
    forward=forward,
    gguf_names=NAMES_OF_GGUF,
)
