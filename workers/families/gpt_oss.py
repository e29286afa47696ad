"""gpt-oss (OpenAI 2025): attention with sinks, a window in every other layer, and experts with clamped gates.

Published weights have their experts in MXFP4 and everything else in bfloat16. So that everything else stays finer
here, too, the projections of the attention have the format of the embedding and the output.
"""

from __future__ import annotations

import re
from dataclasses import replace

from cactus_actors.models.gguf_file import GGUFFile
from cactus_actors.workers.families.decoder_parts import experts
from cactus_actors.workers.families.family import GGUF_NAMES, Family, decoder_from_gguf, decoder_from_json
from cactus_actors.workers.runtime.graph import Graph, Value
from cactus_actors.workers.spec.attention_heads import heads_from_gguf
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.experts_config import STACK, experts_from_gguf, experts_from_json, stack_names
from cactus_actors.workers.spec.model_config import ClampedGate, Layer, ModelConfig
from cactus_actors.workers.spec.rope_config import rope_from_gguf
from cactus_actors.workers.spec.rope_scaling import YarnScaling
from cactus_actors.workers.spec.rotary import Rope
from cactus_actors.workers.spec.sliding_window import (
    window_from_gguf,
    window_from_json,
    windows_from_gguf,
    windows_from_json,
)

# Defaults of GptOssConfig of transformers for missing keys.
DEFAULTS = {
    "vocab_size": 201088,
    "hidden_size": 2880,
    "intermediate_size": 2880,
    "num_hidden_layers": 36,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "sliding_window": 128,
    "max_position_embeddings": 131072,
    "rms_norm_eps": 1e-5,
    "rope_theta": 150000.0,
    "attention_bias": True,
    "num_local_experts": 128,
    "num_experts_per_tok": 4,
    "swiglu_alpha": 1.702,
    "swiglu_limit": 7.0,
}
DEFAULT_ROPE = {
    "rope_type": "yarn",
    "factor": 32.0,
    "beta_fast": 32.0,
    "beta_slow": 1.0,
    "truncate": False,
    "original_max_position_embeddings": 4096,
}
PERIOD = 2
"""Every PERIOD-th layer attends to all positions."""

SOFTMAX_OF_CHOSEN = 3
"""llama.cpp's number of a softmax over the chosen experts."""

PUBLISHED_GATE = ClampedGate(1.702, 7.0)
EXPERTS = f"mlp.experts{STACK}"
_MATRICES_OF_EXPERTS = re.compile(r"blk\.\d+\.ffn_(gate|up|down)_exps\.weight")


def forward(g: Graph, c: ModelConfig) -> None:
    """Pre-norm blocks of attention with sinks and a few experts, chosen for each token."""
    x = g.embed("embed_tokens")  # (tokens, hidden)
    for index, layer in enumerate(c.layers):
        name = f"layers.{index}"
        h = g.rms_norm(x, f"{name}.input_layernorm")
        x = x + attention(g, c, h, layer, f"{name}.self_attn")
        h = g.rms_norm(x, f"{name}.post_attention_layernorm")
        x = x + experts(g, c, h, f"{name}.mlp", gate="gate_proj", up="up_proj", down="down_proj", router="router")
    g.output(x, "norm", "embed_tokens" if c.tie_embeddings else "lm_head")


def attention(g: Graph, c: ModelConfig, h: Value, layer: Layer, name: str) -> Value:
    """Attention with sinks, in the format of the embedding and the output, (tokens, hidden)."""
    widths = [c.query_size, c.kv_size, c.kv_size]
    qkv = g.linear(h, [f"{name}.{part}_proj" for part in "qkv"], widths, bias=c.attention_bias, is_fine=True)
    attended = g.attention(qkv, rope=layer.rope, window=layer.window, sinks=f"{name}.sinks")
    return g.linear(attended, [f"{name}.o_proj"], [c.hidden_size], bias=c.output_bias, is_fine=True)


def read_json(keys: ConfigKeys) -> ModelConfig:
    """The keys of GptOssForCausalLM."""
    keys = keys.with_defaults(**DEFAULTS)
    keys.require_one_of("hidden_act", "silu", None)
    keys.require_one_of("num_experts", keys.get("num_local_experts"), None)  # another name of it
    if not keys.below("rope_scaling").values and keys.get("rope_parameters") is None:
        keys = keys.replaced(rope_parameters=DEFAULT_ROPE)
    windows = windows_from_json(keys, window_from_json(keys), lambda index: (index + 1) % PERIOD != 0)
    common = experts_from_json(keys, "num_local_experts", "intermediate_size", normalised=True)
    gate = ClampedGate(keys.number("swiglu_alpha", "factor"), keys.number("swiglu_limit", "factor"))
    return decoder_from_json(
        keys.replaced(quantization_config=None),
        FAMILY.name,
        layers=_layers(windows),
        experts=replace(common, gate=gate, is_mxfp4=_is_mxfp4(keys)),
        biases="attention",
    )


def _layers(windows: list[int]) -> tuple[Layer, ...]:
    return tuple(Layer(window=window, has_experts=True) for window in windows)


def _is_mxfp4(keys: ConfigKeys) -> bool:
    """True if the experts are in MXFP4, by `quantization_config`; other methods are refused."""
    if keys.get("quantization_config") is None:
        return False
    quantised = keys.below("quantization_config")
    quantised.require_one_of("quant_method", "mxfp4")
    kept = quantised.get("modules_to_not_convert")
    are_names = kept is None or (isinstance(kept, list) and all(isinstance(name, str) for name in kept))
    names_experts = are_names and any("experts" in name or name.endswith("mlp") for name in kept or ())
    quantised.require(are_names and not names_experts, "modules_to_not_convert", "names of modules without experts")
    return True


def read_gguf(keys: ConfigKeys, file: GGUFFile) -> ModelConfig:
    """The metadata below `gpt-oss.`; files do not have the gate's numbers."""
    keys.require_one_of("expert_gating_func", SOFTMAX_OF_CHOSEN, None)
    keys.require_one_of("rope.freq_base_swa", keys.get("rope.freq_base"), None)
    common = experts_from_gguf(keys.replaced(expert_gating_func=None), "expert_feed_forward_length", normalised=True)
    types = {info.type.name for name, info in file.tensors.items() if _MATRICES_OF_EXPERTS.fullmatch(name)}
    return decoder_from_gguf(
        keys,
        file,
        FAMILY.name,
        layers=_layers(windows_from_gguf(keys, window_from_gguf(keys), period=PERIOD)),
        ropes=(_rope_from_gguf(keys, file),),
        experts=replace(common, gate=PUBLISHED_GATE, is_mxfp4=types == {"MXFP4"}),
        biases="attention",
    )


def _rope_from_gguf(keys: ConfigKeys, file: GGUFFile) -> Rope:
    """The rope with the ramp of config.json, whose ends are not rounded; files do not say so."""
    rope = rope_from_gguf(keys, file, heads_from_gguf(keys).head_dim)
    if isinstance(rope.scaling, YarnScaling):
        return replace(rope, scaling=replace(rope.scaling, truncate=False))
    return rope


FAMILY = Family(
    name="gpt-oss",
    examples="gpt-oss 20B, 120B",
    architectures=("GptOssForCausalLM",),
    model_types=("gpt_oss",),
    gguf_architectures=("gpt-oss",),
    has_experts=True,
    read_json=read_json,
    read_gguf=read_gguf,
    forward=forward,
    interleaved_names={
        "mlp.experts.gate_up_proj": (f"{EXPERTS}gate_proj", f"{EXPERTS}up_proj"),
        "mlp.experts.gate_up_proj_bias": (f"{EXPERTS}gate_proj.bias", f"{EXPERTS}up_proj.bias"),
        "mlp.experts.down_proj": (f"{EXPERTS}down_proj",),
        "mlp.experts.down_proj_bias": (f"{EXPERTS}down_proj.bias",),
    },
    gguf_names={
        **{stored: name for stored, name in GGUF_NAMES.items() if not stored.startswith("ffn_")},
        "post_attention_norm": "post_attention_layernorm",
        "attn_sinks": "self_attn.sinks",
        "ffn_gate_inp": "mlp.router",
        **stack_names("mlp.experts", gate="gate_proj", up="up_proj", down="down_proj"),
    },
)
