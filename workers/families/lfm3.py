"""LFM3 (Liquid AI 2026): LFM2 with windows, norms after both parts of a layer, and a gate on every head."""

from __future__ import annotations

from cactus_actors.models.checked_files import invalid
from cactus_actors.models.gguf_file import GGUFFile
from cactus_actors.workers.families import lfm2
from cactus_actors.workers.families.decoder_parts import normed_queries_keys_values
from cactus_actors.workers.families.family import Family, decoder_from_json
from cactus_actors.workers.runtime.graph import Graph, Value
from cactus_actors.workers.spec.attention_heads import heads_from_json
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.model_config import Layer, ModelConfig
from cactus_actors.workers.spec.rope_config import rope_from_json
from cactus_actors.workers.spec.rotary import Rope
from cactus_actors.workers.spec.sliding_window import window_from_json

FULL, SLIDING = "full_attention", "sliding_attention"
# Defaults of Lfm3Config of transformers for missing keys.
DEFAULTS = {
    "num_key_value_heads": 4,
    "head_dim": 128,
    "max_position_embeddings": 128_000,
    "norm_eps": 1e-5,
    "conv_L_cache": 7,
    "sliding_window": 256,
    "rope_theta": 1e6,
    "rope_parameters": {
        SLIDING: {"rope_type": "default", "rope_theta": 10000.0},
        FULL: {"rope_type": "proportional", "rope_theta": 1000000.0, "partial_rotary_factor": 0.5},
    },
}
GLOBAL, LOCAL = 0, 1  # indices of the ropes


def forward(g: Graph, c: ModelConfig) -> None:
    """Blocks of a short convolution or attention, and of a SiLU-gated network, each between two norms."""
    x = g.embed("embed_tokens")  # (tokens, hidden)
    for index, layer in enumerate(c.layers):
        name = f"layers.{index}"
        h = g.rms_norm(x, f"{name}.operator_norm")
        if layer.kind == "conv":
            h = lfm2.short_conv(g, c, h, f"{name}.conv")
        else:
            h = _attention(g, c, h, layer, f"{name}.self_attn")
        x = x + _normed_after(g, c, h, f"{name}.post_operator_norm")

        h = g.rms_norm(x, f"{name}.ffn_norm")
        h = lfm2.feed_forward(g, c, h, layer, name)
        x = x + _normed_after(g, c, h, f"{name}.post_ffn_norm")
    g.output(x, "embedding_norm", "embed_tokens" if c.tie_embeddings else "lm_head")


def _normed_after(g: Graph, c: ModelConfig, h: Value, name: str) -> Value:
    return g.rms_norm(h, name) if c.has_norms_after else h


def _attention(g: Graph, c: ModelConfig, h: Value, layer: Layer, name: str) -> Value:
    gates = g.linear(h, [f"{name}.gate_proj"], [c.num_heads]) if c.has_head_gates else None
    qkv = normed_queries_keys_values(g, c, h, name)  # (tokens, (heads + 2 kv_heads) * head_dim)
    attended = g.attention(qkv, rope=layer.rope, window=layer.window)  # (tokens, heads * head_dim)
    if gates is not None:
        attended = g.gate_heads(attended, gates)
    return g.linear(attended, [f"{name}.o_proj"], [c.hidden_size], bias=c.output_bias)


def read_json(keys: ConfigKeys) -> ModelConfig:
    """The keys of Lfm3ForCausalLM."""
    keys = keys.with_defaults(**DEFAULTS)
    keys.require_one_of("conv_bias", False, None)
    layers = _layers(keys)
    return decoder_from_json(
        keys,
        FAMILY.name,
        layers=layers,
        ropes=_ropes(keys, {layer.rope for layer in layers if layer.kind == "attention"}),
        norm_eps=keys.number("norm_eps" if keys.get("rms_norm_eps") is None else "rms_norm_eps", "norm_eps"),
        tie_embeddings=keys.boolean("tie_word_embeddings", default=True),
        num_taps=keys.integer("conv_L_cache", "num_taps"),
        has_norms_after=keys.boolean("use_sandwich_norm", default=True),
        has_head_gates=keys.boolean("use_attention_gate", default=True),
        biases="attention",
    )


def _layers(keys: ConfigKeys) -> tuple[Layer, ...]:
    num_layers = keys.integer("num_hidden_layers", "num_layers")
    if keys.get("layer_types") is None:
        kinds = [{0: SLIDING, 2: FULL}.get(index % 4, "conv") if index else "conv" for index in range(num_layers)]
    else:
        kinds = keys.strings("layer_types", num_layers)
    known = (FULL, SLIDING, "conv")
    keys.require(set(kinds) <= set(known), "layer_types", ", ".join(known))
    window = window_from_json(keys)
    keys.require(window > 0 or SLIDING not in kinds, "sliding_window", "a number, as some layers need it")
    layers = {FULL: Layer(rope=GLOBAL), SLIDING: Layer(rope=LOCAL, window=window), "conv": Layer(kind="conv")}
    return tuple(layers[kind] for kind in kinds)


def _ropes(keys: ConfigKeys, used: set[int | None]) -> tuple[Rope, ...]:
    """The global and the local rope; a rope that no layer uses may be missing."""
    keys.require_one_of("rope_scaling", None)
    keys.require_one_of("partial_rotary_factor", None)
    head_dim, given = heads_from_json(keys).head_dim, keys.below("rope_parameters")
    ropes = []
    for index, kind in enumerate((FULL, SLIDING)):
        given.require(given.get(kind) is not None or index not in used, kind, "an object, as some layers need it")
        ropes.append(rope_from_json(keys, head_dim, section=kind))
    return tuple(ropes)


def read_gguf(_keys: ConfigKeys, file: GGUFFile) -> ModelConfig:
    """Refuse the file: the format has no architecture for this family."""
    raise invalid(file.path, "LFM3 has no GGUF architecture")


FAMILY = Family(
    name="LFM3",
    examples="LFM3 1.7B",
    architectures=("Lfm3ForCausalLM",),
    model_types=("lfm3",),
    gguf_architectures=(),
    read_json=read_json,
    read_gguf=read_gguf,
    forward=forward,
)
