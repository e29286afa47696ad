"""The values of config.json that docs/reference/model-configs.md tries on every family."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cactus_actors.workers.spec.model_config import ModelConfig

Changes = dict[str, Any]
ABSENT = object()
"""The value of a key that is removed."""
OTHERS = "others"
"""Shown for a value that no family knows; where it is refused, so are all that are not shown as supported."""

FULL, SLIDING, CONV, MAMBA, LINEAR = "full_attention", "sliding_attention", "conv", "mamba", "linear_attention"


Change = Callable[[Mapping[str, Any], ModelConfig], Changes]
"""(config.json, the config that it gives) -> the changed keys."""


@dataclass(frozen=True, slots=True)
class Trial:
    """Values of one key, as the page shows each, and other keys that a model needs to read it.

    `key` may be one of a nested object, with dots.
    """

    key: str
    values: Mapping[str, Change]
    beside: Changes = field(default_factory=dict)
    names: tuple[str, ...] = ()  # of which a refusal has one; by default the parts of the key


def trial(key: str, *values: Any, **beside: Any) -> Trial:
    """Each of these values of a key at the top, shown as in JSON."""
    return Trial(key, {shown(value): always({key: value}) for value in values}, beside)


def rope_types(key: str, place: Callable[[Mapping[str, Any], Changes], Changes]) -> Trial:
    """Every type of a rotary embedding, where `place` puts it."""
    values = {kind if kind == OTHERS else f"`{kind}`": _rope(kind, place) for kind in _ROPES}
    return Trial(key, values, names=("rope_type", "rope_parameters", "rope_scaling"))


def shown(value: Any) -> str:
    """A value as the page shows it."""
    if value is ABSENT:
        return "absent"
    if value is None:
        return "null"
    if value == OTHERS:
        return OTHERS
    if isinstance(value, bool):
        return str(value).lower()
    return f"`{value}`" if isinstance(value, str) else str(value)


def always(changes: Changes) -> Change:
    """Changes that apply to any config.json."""
    return lambda _values, _config: changes


def _kinds_in_turn(kinds: tuple[str, ...]) -> Change:
    return lambda _values, config: {"layer_types": [kinds[i % len(kinds)] for i in range(config.num_layers)]}


def _rope(kind: str, place: Callable[[Mapping[str, Any], Changes], Changes]) -> Change:
    return lambda values, config: place(values, {"rope_type": kind, **_ROPES[kind](_num_pairs(config))})


def _num_pairs(config: ModelConfig) -> int:
    return config.ropes[0].rotary_dim // 2 if config.ropes else config.head_dim // 2


def _for_all_layers(values: Mapping[str, Any], rope: Changes) -> Changes:
    """A rotary embedding for all layers, by the key that the config.json has."""
    newer = values.get("rope_parameters")
    if isinstance(newer, dict) and "rope_theta" in newer:
        return {"rope_parameters": newer | rope}
    return {"rope_parameters": ABSENT, "rope_scaling": rope}


def _for_full_layers(_values: Mapping[str, Any], rope: Changes) -> Changes:
    """A rotary embedding for layers without a window, a plain one for the others."""
    plain = {"rope_type": "default", "rope_theta": 10000.0}
    nested = {FULL: plain | rope, SLIDING: plain}
    return {"rope_theta": ABSENT, "rope_scaling": ABSENT, "rope_parameters": nested}


_ORIGINAL = {"original_max_position_embeddings": 64}
_ROPES: Mapping[str, Callable[[int], Changes]] = {
    "default": lambda _: {},
    "linear": lambda _: {"factor": 2.0},
    "llama3": lambda _: {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, **_ORIGINAL},
    "yarn": lambda _: {"factor": 8.0, **_ORIGINAL},
    "longrope": lambda pairs: {"short_factor": [1.5] * pairs, "long_factor": [2.0] * pairs, **_ORIGINAL},
    "proportional": lambda _: {"partial_rotary_factor": 0.5},
    "dynamic": lambda _: {"factor": 2.0},
    OTHERS: lambda _: {},
}


def _inside(section: str, key: str, *values: Any) -> Trial:
    """Each of these values of a key of a nested object."""

    def change(value: Any) -> Change:
        return lambda config, _: {section: {**config.get(section, {}), key: value}} if section in config else {}

    return Trial(f"{section}.{key}", {shown(value): change(value) for value in values})


def _of_axes(key: str, *values: Any) -> Trial:
    """Each of these values of a key that a text part's rotary embedding has for its axes."""

    def change(value: Any) -> Change:
        def changes(config: Mapping[str, Any], _config: ModelConfig) -> Changes:
            text = config.get("text_config", {})
            rope = text.get("rope_scaling", {})
            return {"text_config": {**text, "rope_scaling": {**rope, key: value}}} if "mrope_section" in rope else {}

        return changes

    return Trial(f"rope_scaling.{key}", {shown(value): change(value) for value in values})


def _growing(values: Mapping[str, Any], **beta: float) -> Any:
    """The `rope_parameters` of a config.json with another growth of the queries."""
    given = values.get("rope_parameters")
    if not isinstance(given, dict):
        return ABSENT
    return {key: value for key, value in given.items() if key != "llama_4_scaling_beta"} | beta


def _mxfp4(*kept: str) -> Changes:
    return {"quant_method": "mxfp4", "modules_to_not_convert": list(kept)}


WIDE = {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16}
"""Heads of which parts have an even number of lanes."""

TRIALS: tuple[Trial, ...] = (
    trial("hidden_act", "silu", "gelu", "gelu_pytorch_tanh", "relu", OTHERS),
    trial("hidden_activation", "gelu_pytorch_tanh", "gelu", "silu", OTHERS),
    trial("tie_word_embeddings", True, False),
    trial("tie_embedding", True, False),
    trial("attention_bias", True, False),
    trial("mlp_bias", True, False),
    trial("conv_bias", True, False),
    Trial("auto_map", {"absent": always({"auto_map": ABSENT}), OTHERS: always({"auto_map": {"AutoModel": "a.B"}})}),
    Trial(
        "quantization_config.quant_method",
        {
            "absent": always({"quantization_config": ABSENT}),
            "`mxfp4`": always({"quantization_config": {"quant_method": "mxfp4"}}),
            OTHERS: always({"quantization_config": {"quant_method": "gptq"}}),
        },
    ),
    Trial(
        "quantization_config.modules_to_not_convert",
        {
            "modules without experts": always({"quantization_config": _mxfp4("model.layers.*.self_attn")}),
            OTHERS: always({"quantization_config": _mxfp4("model.layers.*.mlp.experts")}),
        },
    ),
    rope_types("rope_type", _for_all_layers),
    rope_types("full_attention.rope_type", _for_full_layers),
    Trial(
        "rope_theta",
        {str(theta): always({"rope_theta": theta}) for theta in (500000.0, 10000.0)},
        {"rope_parameters": ABSENT, "rope_scaling": ABSENT},
    ),
    trial("partial_rotary_factor", ABSENT, 0.5, rope_parameters=ABSENT, rope_scaling=ABSENT, **WIDE),
    Trial(
        "layer_types",
        {
            "absent": always({"layer_types": ABSENT}),
            **{f"`{kind}`": _kinds_in_turn((FULL, kind)) for kind in (FULL, SLIDING, CONV, LINEAR)},
            f"`{MAMBA}`": _kinds_in_turn((MAMBA, "attention")),
            OTHERS: _kinds_in_turn((FULL, "chunked_attention")),
        },
        {"sliding_window": 8, "use_sliding_window": True, "num_kv_shared_layers": 0, "sliding_window_pattern": 4},
    ),
    trial("sliding_window", ABSENT, None, 8),
    trial("use_sliding_window", True, False, sliding_window=8, max_window_layers=1, layer_types=ABSENT),
    trial("sliding_window_pattern", 2, "LG", layer_types=ABSENT, sliding_window=8),
    trial("use_bidirectional_attention", ABSENT, False, True, "vision", "all", OTHERS),
    trial("attn_logit_softcapping", None, 50.0),
    trial("final_logit_softcapping", None, 30.0),
    trial("query_pre_attn_scalar", 16, 144),
    trial("rope_interleaved", True, False),
    trial("no_rope_layer_interval", 2, 3, no_rope_layers=ABSENT),
    Trial(
        "no_rope_layers",
        {
            "0 or 1 for each layer": lambda _, config: {"no_rope_layers": [1] * config.num_layers},
            OTHERS: lambda _, config: {"no_rope_layers": [2] * config.num_layers},
        },
    ),
    trial("use_mrope", True, False),
    Trial(
        "dual_chunk_attention_config",
        {
            "absent": always({"dual_chunk_attention_config": ABSENT}),
            OTHERS: always({"dual_chunk_attention_config": {"chunk_size": 8}}),
        },
    ),
    trial("position_embedding_type", "rope", "nope", "alibi", OTHERS),
    trial("attention_multiplier", 0.5, 0),
    trial("embedding_multiplier", 2.0, 0),
    trial("residual_multiplier", 0.5, 0),
    trial("logits_scaling", 2.0, 0),
    Trial(
        "rope_parameters.llama_4_scaling_beta",
        {
            "absent": lambda values, _: {"rope_parameters": _growing(values)},
            "numbers": lambda values, _: {"rope_parameters": _growing(values, llama_4_scaling_beta=0.2)},
        },
    ),
    trial("full_attention_interval", 2, 3, layer_types=ABSENT),
    trial("attn_output_gate", True, False),
    trial("linear_conv_kernel_dim", 2, 4, 0),
    trial("conv_L_cache", 2, 4, 0),
    trial("use_sandwich_norm", True, False),
    trial("use_attention_gate", True, False),
    trial("mamba_proj_bias", True, False),
    trial("mamba_conv_bias", True, False),
    trial("mamba_n_groups", 1, 2, 3),
    trial("time_step_limit", ABSENT, [0.0, 1.0]),
    trial("norm_topk_prob", True, False),
    trial("use_expert_bias", True, False),
    trial("routed_scaling_factor", 1.0, 2.5),
    trial("num_experts_per_tok", 1, 2, 100),
    trial("num_dense_layers", 0, 1),
    trial("decoder_sparse_step", 1, 2),
    trial("mlp_only_layers", [], [0]),
    trial("shared_intermediate_size", 8, 21),
    trial("swiglu_limit", 2.0, 7.0),
    trial("swiglu_alpha", 1.0, 1.702),
    trial("hidden_size_per_layer_input", 0, 8),
    trial("vocab_size_per_layer_input", 256, 8, hidden_size_per_layer_input=8),
    trial("num_kv_shared_layers", 0, 100),
    trial("use_double_wide_mlp", True, False, num_kv_shared_layers=1),
    trial("altup_num_inputs", 2, 3, 1),
    trial("altup_active_idx", 0, 3, 4),
    trial("altup_correct_scale", True, False),
    Trial(
        "activation_sparsity_pattern",
        {
            "0 to below 1 for each layer": lambda _, config: {"activation_sparsity_pattern": [0.5] * config.num_layers},
            OTHERS: lambda _, config: {"activation_sparsity_pattern": [1.0] * config.num_layers},
        },
    ),
    trial("attention_k_eq_v", True, False),
    trial("enable_moe_block", True, False),
    Trial(
        "per_layer_config",
        {
            "absent": always({"per_layer_config": ABSENT}),
            OTHERS: always({"per_layer_config": {"0": {"intermediate_size": 8}}}),
        },
    ),
)
"""The keys of text that change a computation, in the order of the table."""

TRIALS_OF_PICTURES: tuple[Trial, ...] = (
    _inside("vision_config", "hidden_act", "gelu_pytorch_tanh", "gelu", "silu", OTHERS),
    _inside("vision_config", "num_channels", 3, 1),
    _inside("vision_config", "image_size", 60, 1),
    trial("mm_tokens_per_image", 25, 24),
    _inside("vision_config", "hidden_activation", "gelu_pytorch_tanh", "gelu", OTHERS),
    _inside("vision_config", "num_key_value_heads", 3, 1, 2),
    _inside("vision_config", "pooling_kernel_size", 2, 3, 1),
    _inside("vision_config", "use_clipped_linears", True, False),
    _inside("vision_config", "standardize", True, False),
    _inside("vision_config", "num_patches", 64, 60),
    _inside("vision_config", "in_channels", 3, 1),
    _inside("vision_config", "num_heads", 1, 2, 7),
    _inside("vision_config", "conv_kernel_size", 3, 5, 4),
    _inside("vision_config", "head_dim", 12, 8, 6),
    _inside("vision_config", "out_hidden_size", 36, 8),
    _inside("vision_config", "num_position_embeddings", 36, 35),
    _inside("vision_config", "deepstack_visual_indexes", [], [0, 1], [0, 0], [100]),
    _inside("vision_config", "temporal_patch_size", 1, 2, [2, 2]),
    _of_axes("mrope_section", [4, 2, 2], [3, 3]),
    _of_axes("mrope_interleaved", True, False),
    trial("projector_hidden_act", "gelu", "gelu_pytorch_tanh", "relu", OTHERS),
    trial("projector_bias", True, False),
    trial("projector_use_layernorm", True, False),
)
"""The keys of encoders of pictures; the families that have one are tried with a checkpoint that reads pictures."""
