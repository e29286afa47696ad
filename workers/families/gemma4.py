"""Gemma 4 (Gemma Team 2026): heads of two sizes, values normed without gains, a factor for each layer.

Layers with a window and layers without have heads and rotary embeddings of their own. Small models give every layer
an embedding of the token, and their last layers attend to keys and values of earlier ones; others project values as
keys are, or have experts in addition to the network. Some let the tokens of a picture attend to
each other, in the layers with a window.
"""

from __future__ import annotations

import re

from cactus_actors.workers.families import gemma2, gemma4_pictures
from cactus_actors.workers.families.decoder_parts import experts
from cactus_actors.workers.families.family import Family
from cactus_actors.workers.families.gemma4_config import read_gguf, read_json
from cactus_actors.workers.runtime.graph import Graph, Value
from cactus_actors.workers.spec.attention_heads import AttentionHeads
from cactus_actors.workers.spec.experts_config import STACK
from cactus_actors.workers.spec.model_config import Layer, ModelConfig, PerLayerInputs
from cactus_actors.workers.vision.gemma4_vision import encode


def forward(g: Graph, c: ModelConfig) -> None:
    """Attention, a GELU-gated network and the layer's own input of the token, each with a norm after it."""
    x = g.embed("embed_tokens", scale=c.hidden_size**0.5)  # (tokens, hidden)
    inputs = None if c.per_layer_inputs is None else inputs_of_layers(g, c, x, c.per_layer_inputs)
    for index, layer in enumerate(c.layers):
        name = f"layers.{index}"
        h = normed_attention(g, c, g.rms_norm(x, f"{name}.input_layernorm"), layer, f"{name}.self_attn")
        x = x + g.rms_norm(h, f"{name}.post_attention_layernorm")

        h = _gated_network(g, c, g.rms_norm(x, f"{name}.pre_feedforward_layernorm"), layer, f"{name}.mlp")
        if layer.has_experts:
            h = g.rms_norm(h, f"{name}.post_feedforward_layernorm_1")
            h = h + g.rms_norm(_experts(g, c, x, name), f"{name}.post_feedforward_layernorm_2")
        x = x + g.rms_norm(h, f"{name}.post_feedforward_layernorm")

        if inputs is not None and c.per_layer_inputs is not None:
            x = x + input_of_layer(g, c, x, inputs, c.per_layer_inputs, index)
        x = g.scaled_by(x, f"{name}.layer_scalar")
    g.output(x, "norm", "embed_tokens" if c.tie_embeddings else "lm_head")


def inputs_of_layers(g: Graph, c: ModelConfig, x: Value, given: PerLayerInputs) -> Value:
    """The inputs of all layers side by side, (tokens, layers * size): an embedding and a projection of `x`, averaged.

    The sum of both is divided by the square root of two.
    """
    width, parts = c.num_layers * given.size, AttentionHeads(c.num_layers, c.num_layers, given.size)
    embedded = g.embed("embed_tokens_per_layer", scale=given.size**0.5, vocab_size=given.vocab_size, width=width)
    projected = g.scaled(g.linear(x, ["per_layer_model_projection"], [width]), c.hidden_size**-0.5)
    g.norm_heads(projected, 0, c.num_layers, "per_layer_projection_norm", heads=parts)
    return g.scaled(projected + embedded, 2**-0.5)


def input_of_layer(g: Graph, c: ModelConfig, x: Value, inputs: Value, given: PerLayerInputs, index: int) -> Value:
    """The part of `inputs` of the layer `index`, gated by x and projected, (tokens, hidden)."""
    name, size = f"layers.{index}", given.size
    h = g.linear(x, [f"{name}.per_layer_input_gate"], [size])
    h = g.gelu_times(h, inputs, index * size)  # (tokens, size)
    h = g.linear(h, [f"{name}.per_layer_projection"], [c.hidden_size])
    return g.rms_norm(h, f"{name}.post_per_layer_input_norm")


def normed_attention(g: Graph, c: ModelConfig, h: Value, layer: Layer, name: str) -> Value:
    """Attention to the keys and values of the layer, or to those of `layer.kv_layer`, (tokens, hidden)."""
    heads = c.heads_of(layer)
    queries, keys, values = (f"{name}.{part}_proj" for part in "qkv")
    if layer.kv_layer is not None:
        qkv = g.linear(h, [queries], [heads.query_size], bias=c.attention_bias)  # (tokens, heads * head_dim)
    else:
        names = [queries, keys, keys if layer.shares_key_projection else values]
        sizes = [heads.query_size, heads.kv_size, heads.kv_size]
        qkv = g.linear(h, names, sizes, bias=c.attention_bias)  # (tokens, (heads + 2 kv_heads) * head_dim)
        g.norm_heads(qkv, heads.query_size, heads.num_kv_heads, f"{name}.k_norm", heads=heads)
        g.norm_heads(qkv, heads.query_size + heads.kv_size, heads.num_kv_heads, None, heads=heads)
    g.norm_heads(qkv, 0, heads.num_heads, f"{name}.q_norm", heads=heads)
    attended = g.attention(
        qkv,
        rope=layer.rope,
        window=layer.window,
        heads=heads,
        kv_layer=layer.kv_layer,
        sees_whole_tiles=layer.sees_whole_tiles,
    )
    return g.linear(attended, [f"{name}.o_proj"], [c.hidden_size], bias=c.output_bias)


def _gated_network(g: Graph, c: ModelConfig, h: Value, layer: Layer, name: str) -> Value:
    gate_up = g.linear(h, [f"{name}.gate_proj", f"{name}.up_proj"], [layer.ffn_size or c.ffn_size] * 2)
    return g.linear(g.gelu_gate(gate_up), [f"{name}.down_proj"], [c.hidden_size])


def _experts(g: Graph, c: ModelConfig, x: Value, name: str) -> Value:
    """The chosen experts, which the router weighs by a norm of its own of the same stream, (tokens, hidden)."""
    routed = g.scaled(g.rms_norm(x, f"{name}.router.scale"), c.hidden_size**-0.5)
    return experts(
        g,
        c,
        g.rms_norm(x, f"{name}.pre_feedforward_layernorm_2"),
        name,
        gate="gate_proj",
        up="up_proj",
        down="down_proj",
        router="router.proj",
        router_input=routed,
        scales=f"{name}.router.per_expert_scale",
        is_gelu=True,
    )


def ignores(config: ModelConfig, name: str) -> bool:
    """True for keys and values of layers that attend to those of other layers: files may have them still."""
    match = re.fullmatch(r"layers\.(\d+)\.self_attn\.[kv]_(?:proj|norm)(?:\.bias)?", name)
    if match is None or int(match[1]) >= config.num_layers:
        return False
    return config.layers[int(match[1])].kv_layer is not None


FAMILY = Family(
    name="Gemma 4",
    examples="Gemma 4 E2B, E4B, 26B-A4B, 31B",
    architectures=("Gemma4ForCausalLM", "Gemma4ForConditionalGeneration"),
    model_types=("gemma4_text", "gemma4"),
    gguf_architectures=("gemma4",),
    read_json=read_json,
    read_gguf=read_gguf,
    forward=forward,
    encode=encode,
    mmproj=gemma4_pictures.MMPROJ,
    ignores=ignores,
    unused=("audio_tower.", "embed_audio."),
    stacked_names={
        "experts.gate_up_proj": (f"experts{STACK}gate_proj", f"experts{STACK}up_proj"),
        "experts.down_proj": (f"experts{STACK}down_proj",),
    },
    gguf_names={
        **gemma2.NAMES_OF_GGUF,
        "per_layer_token_embd": "embed_tokens_per_layer",
        "per_layer_model_proj": "per_layer_model_projection",
        "per_layer_proj_norm": "per_layer_projection_norm",
        "inp_gate": "per_layer_input_gate",
        "proj": "per_layer_projection",
        "post_norm": "post_per_layer_input_norm",
        "layer_output_scale": "layer_scalar",
        "post_ffw_norm_1": "post_feedforward_layernorm_1",
        "pre_ffw_norm_2": "pre_feedforward_layernorm_2",
        "post_ffw_norm_2": "post_feedforward_layernorm_2",
        "ffn_gate_inp": "router.proj",
        "ffn_gate_inp.scale": "router.scale",
        "ffn_down_exps.scale": "router.per_expert_scale",
        "ffn_gate_up_exps": "experts.gate_up_proj",
        "ffn_gate_exps": f"experts{STACK}gate_proj",
        "ffn_up_exps": f"experts{STACK}up_proj",
        "ffn_down_exps": f"experts{STACK}down_proj",
    },
)
