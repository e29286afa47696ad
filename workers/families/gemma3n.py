"""Gemma 3n (Gemma Team 2025): four residual streams, inputs of each layer, a low-rank path beside the attention.

One stream goes through a layer, which predicts the others before and corrects all afterwards (AltUp, Baykal et al.
2023). Attention and inputs of each layer are those of Gemma 4. Networks of the first layers have few gates that are
not zero. Text only.
"""

from __future__ import annotations

from cactus_actors.workers.families import gemma2, gemma4
from cactus_actors.workers.families.family import Family
from cactus_actors.workers.families.gemma3n_config import NAME, read_gguf, read_json
from cactus_actors.workers.runtime.graph import Graph, Value
from cactus_actors.workers.runtime.stream_graph import (
    add_to_others,
    correct,
    cut_gates,
    merged,
    mixed,
    streams_of,
    taken,
    tanh,
)
from cactus_actors.workers.spec.experts_config import STACK
from cactus_actors.workers.spec.model_config import Layer, ModelConfig, ResidualStreams


def forward(g: Graph, c: ModelConfig) -> None:
    """The active stream goes through attention and network; the input of the layer is added to all but the first."""
    assert c.streams is not None, "every model has them"
    assert c.per_layer_inputs is not None, "every model has them"
    given, others = c.streams, range(c.streams.num_streams - 1)
    x = g.embed("embed_tokens", scale=c.hidden_size**0.5)  # (tokens, hidden)
    inputs = gemma4.inputs_of_layers(g, c, x, c.per_layer_inputs)
    streams = streams_of(g, x, [f"altup_projections.{index}" for index in others])
    for index, layer in enumerate(c.layers):
        name = f"layers.{index}"
        active = taken(g, streams, given.active)
        predictors = _coefficients(g, active, given, f"{name}.altup", "prediction_coefs", given.num_streams**2)
        streams = mixed(g, streams, predictors)
        x = _through_layer(g, c, given, taken(g, streams, given.active), layer, name)

        correctors = _coefficients(g, x, given, f"{name}.altup", "correction_coefs", given.num_streams)
        correct(g, streams, given.active, x, correctors)
        gains = f"{name}.altup.correct_output_scale" if given.has_output_gains else None
        x = taken(g, streams, given.active, gains)
        add_to_others(g, streams, gemma4.input_of_layer(g, c, x, inputs, c.per_layer_inputs, index))
    x = merged(g, streams, [f"altup_unembed_projections.{index}" for index in others])
    g.output(x, "norm", "embed_tokens" if c.tie_embeddings else "lm_head")


def _coefficients(g: Graph, x: Value, given: ResidualStreams, name: str, part: str, count: int) -> Value:
    """The coefficients of all streams, (tokens, count), from a norm of one stream."""
    routed = g.scaled(g.rms_norm(x, f"{name}.router_norm"), 1 / x.width)
    shares = tanh(g, g.linear(routed, [f"{name}.modality_router"], [given.num_streams], is_fine=True))
    return g.linear(shares, [f"{name}.{part}"], [count], is_fine=True)


def _through_layer(g: Graph, c: ModelConfig, given: ResidualStreams, x: Value, layer: Layer, name: str) -> Value:
    """Attention, beside it a low-rank projection, and a network, each with a norm after it, (tokens, hidden)."""
    h = g.rms_norm(x, f"{name}.input_layernorm")
    beside = g.linear(h, [f"{name}.laurel.linear_left"], [given.rank])
    beside = g.linear(beside, [f"{name}.laurel.linear_right"], [c.hidden_size])
    beside = g.rms_norm(beside, f"{name}.laurel.post_laurel_norm") + h
    attended = gemma4.normed_attention(g, c, h, layer, f"{name}.self_attn")
    x = x + g.rms_norm(attended, f"{name}.post_attention_layernorm")
    x = g.scaled(x + beside, 2**-0.5)

    h = g.rms_norm(x, f"{name}.pre_feedforward_layernorm")
    gate_up = g.linear(h, [f"{name}.mlp.gate_proj", f"{name}.mlp.up_proj"], [layer.ffn_size] * 2)
    if layer.gate_cutoff is not None:
        cut_gates(g, gate_up, layer.gate_cutoff)
    h = g.linear(g.gelu_gate(gate_up), [f"{name}.mlp.down_proj"], [c.hidden_size])
    return x + g.rms_norm(h, f"{name}.post_feedforward_layernorm")


def ignores(config: ModelConfig, name: str) -> bool:
    """True for tensors that files have and models without their use leave out."""
    is_unscaled = config.streams is not None and not config.streams.has_output_gains
    return (is_unscaled and name.endswith(".correct_output_scale")) or gemma4.ignores(config, name)


FAMILY = Family(
    name=NAME,
    examples="Gemma 3n E2B, E4B",
    architectures=("Gemma3nForCausalLM", "Gemma3nForConditionalGeneration"),
    model_types=("gemma3n_text", "gemma3n"),
    gguf_architectures=("gemma3n",),
    read_json=read_json,
    read_gguf=read_gguf,
    forward=forward,
    ignores=ignores,
    unused=("audio_tower.", "embed_audio."),
    gguf_names={
        **gemma2.NAMES_OF_GGUF,
        "per_layer_token_embd": "embed_tokens_per_layer",
        "per_layer_model_proj": "per_layer_model_projection",
        "per_layer_proj_norm": "per_layer_projection_norm",
        "inp_gate": "per_layer_input_gate",
        "proj": "per_layer_projection",
        "post_norm": "post_per_layer_input_norm",
        "altup_proj": f"altup_projections{STACK}",
        "altup_unembd_proj": f"altup_unembed_projections{STACK}",
        "altup_router": "altup.modality_router",
        "altup_router_norm": "altup.router_norm",
        "altup_predict_coef": "altup.prediction_coefs",
        "altup_correct_coef": "altup.correction_coefs",
        "altup_correct_scale": "altup.correct_output_scale",
        "laurel_l": "laurel.linear_left",
        "laurel_r": "laurel.linear_right",
        "laurel_post_norm": "laurel.post_laurel_norm",
    },
)
