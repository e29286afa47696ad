"""Further keys of a config.json: a draw for each key of any family."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from tests.differential import ropes
from tests.differential.shape import Shape

Draw = Callable[[Random, Shape], Any]


def one_of(*values: Any) -> Draw:
    """One of these values, for any shape."""
    return lambda random, _shape: random.choice(values)


def layer_kinds(*kinds: str) -> Draw:
    """A kind for each layer."""
    return lambda random, shape: [random.choice(kinds) for _ in range(shape.num_layers)]


def layer_numbers(random: Random, shape: Shape) -> list[int]:
    return sorted(random.sample(range(shape.num_layers), random.randint(0, shape.num_layers)))


def flags(random: Random, shape: Shape) -> list[int]:
    return [random.randint(0, 1) for _ in range(shape.num_layers)]


def any_layer_kinds(random: Random, shape: Shape) -> list[str]:
    kinds = random.choice([("full_attention", "sliding_attention"), ("full_attention",), ("sliding_attention",)])
    return layer_kinds(*kinds)(random, shape)


def both_layer_kinds(random: Random, shape: Shape) -> list[str]:
    """Layers with and without a window, one of each at the beginning."""
    kinds = ["full_attention", "sliding_attention"]
    rest = [random.choice(kinds) for _ in range(shape.num_layers)]
    return (random.sample(kinds, 2) + rest)[: shape.num_layers]


def full_heads(random: Random, shape: Shape) -> dict[str, Any] | None:
    """Other heads in some layers, as transformers 5 writes them."""
    heads = {"head_dim": random.choice([8, 14]), "num_key_value_heads": random.choice([1, shape.num_heads])}
    layers = random.choice([[shape.num_layers - 1], list(range(shape.num_layers))])
    return random.choice([None, {}, {str(layer): heads for layer in layers}])


def shares(random: Random, shape: Shape) -> list[float]:
    """A share of gates that are cut for each layer."""
    return [random.choice([0.0, 0.0, 0.3, 0.5, 0.95]) for _ in range(shape.num_layers)]


def ffn_sizes(random: Random, shape: Shape) -> list[int]:
    return [random.choice([24, 31, 52]) for _ in range(shape.num_layers)]


FIELDS: Mapping[str, Draw] = {
    "activation_sparsity_pattern": shares,
    "altup_active_idx": one_of(0, 1, 2, 4),
    "altup_correct_scale": one_of(True, False),
    "altup_num_inputs": one_of(1, 2, 3, 5),
    "attention_bias": one_of(True, False, None),
    "attention_k_eq_v": one_of(True, False),
    "attention_dropout": one_of(0.0, 0.1),
    "attn_logit_softcapping": one_of(None, 2.0, 50.0),
    "attention_multiplier": one_of(0.5),
    "block_auto_adjust_ff_dim": one_of(True, False),
    "block_ff_dim": lambda random, _shape: random.randint(8, 90),
    "block_ffn_dim_multiplier": one_of(1.0, 0.7, 1.3),
    "block_multiple_of": one_of(1, 4, 10, 256),
    "conv_L_cache": one_of(1, 2, 3, 4),
    "conv_bias": one_of(True, False),
    "decoder_sparse_step": one_of(1, 2, 3),
    "embedding_multiplier": one_of(0.5, 1, 12.0),
    "final_logit_softcapping": one_of(None, 3.0, 30.0),
    "full_attention_interval": one_of(1, 2, 3, 4),
    "full_attn_idxs": layer_numbers,
    "head_dim": lambda random, shape: random.choice([shape.head_dim, 6, 8, 14, None]),
    "hidden_act": one_of("silu", "silu", "gelu", "gelu_pytorch_tanh", "relu"),
    "hidden_activation": one_of("gelu_pytorch_tanh", "gelu", "silu"),
    "initializer_range": one_of(0.02, 0.3),
    "layer_types": any_layer_kinds,
    "linear_conv_kernel_dim": one_of(1, 2, 3, 4, 5),
    "linear_num_key_heads": one_of(1, 2, 3),
    "linear_num_value_heads": one_of(1, 2, 3, 6),
    "logits_scaling": one_of(4.0),
    "max_window_layers": one_of(0, 1, 2, 28),
    "max_position_embeddings": one_of(32, 64, 256, 4096),
    "mlp_bias": one_of(True, False),
    "mlp_only_layers": layer_numbers,
    "moe_intermediate_size": one_of(6, 12, 31),
    "no_rope_layer_interval": one_of(1, 2, 3, 4),
    "no_rope_layers": flags,
    "norm_eps": one_of(1e-5, 1e-3, 0.02),
    "norm_topk_prob": one_of(True, False),
    "num_dense_layers": one_of(0, 1, 3, 9),
    "num_experts": one_of(2, 3, 5),
    "num_experts_per_tok": one_of(1, 2, 3),
    "num_key_value_heads": lambda random, shape: random.choice([None, shape.num_heads, 1]),
    "num_global_key_value_heads": lambda random, shape: random.choice([None, shape.num_heads, 1]),
    "num_kv_shared_layers": one_of(0, 1, 2, 3, 9),
    "num_local_experts": one_of(2, 3, 5),
    "original_max_position_embeddings": one_of(16, 32, 64, 4096),
    "output_router_logits": one_of(True),
    "partial_rotary_factor": one_of(*ropes.PARTS),
    "position_embedding_type": one_of("rope", "nope", None),
    "per_layer_config": full_heads,
    "pretraining_tp": one_of(1, 2),
    "qk_layernorm": one_of(True, False),
    "query_pre_attn_scalar": one_of(4, 8, 12, 144),
    "residual_multiplier": one_of(0.22),
    "rms_norm_eps": one_of(1e-6, 1e-5, 1e-3, 0.05),
    "rope_interleaved": one_of(True, False),
    "rope_local_base_freq": one_of(*ropes.THETAS),
    "rope_parameters": ropes.rope_parameters,
    "rope_scaling": lambda random, shape: random.choice([None, *[ropes.rope_scaling(random, shape)] * 5]),
    "rope_theta": one_of(*ropes.THETAS),
    "routed_scaling_factor": one_of(1.0, 2.5),
    "router_jitter_noise": one_of(0.0, 0.1),
    "shared_intermediate_size": one_of(0, 8, 21),
    "sliding_window": one_of(None, 1, 5, 13, 40, 4096),
    "sliding_window_pattern": one_of(1, 2, 3, 6),
    "swiglu_alpha": one_of(1.0, 1.702),
    "swiglu_limit": one_of(0.5, 2.0, 7.0),
    "tie_embedding": one_of(True, False),
    "tie_word_embeddings": one_of(True, False),
    "use_attention_gate": one_of(True, False),
    "use_bidirectional_attention": one_of(True, False, None),
    "use_cache": one_of(True, False),
    "use_double_wide_mlp": one_of(True, False),
    "use_expert_bias": one_of(True, False),
    "use_qk_norm": one_of(True, False),
    "use_sandwich_norm": one_of(True, False),
    "use_sliding_window": one_of(True, False),
}
"""Keys of all families: a key is drawn for families that do not know it, too."""

TOGETHER: Mapping[str, tuple[str, ...]] = {
    "use_sliding_window": ("sliding_window", "max_window_layers"),
    "layer_types": ("sliding_window", "use_sliding_window"),
    "partial_rotary_factor": ("rope_scaling",),
    "original_max_position_embeddings": ("rope_scaling",),
}
"""Keys that have little effect without others, which are drawn together with them in half of the cases."""
