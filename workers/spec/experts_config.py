"""Mixtures of experts as config.json and GGUF files describe them."""

from __future__ import annotations

from dataclasses import replace

from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.model_config import Experts

STACK = ".*."
"""In a canonical name of `gguf_names`: the tensor is a stack; the index of an entry replaces this part."""


def experts_from_json(
    keys: ConfigKeys, count_key: str, size_key: str, *, normalised: bool, chosen_key: str = "num_experts_per_tok"
) -> Experts:
    """The experts of a config.json; their number and width have these keys."""
    return _experts(keys, count_key, chosen_key, size_key, normalised)


def experts_from_gguf(keys: ConfigKeys, size_key: str, *, normalised: bool) -> Experts:
    """The experts of a GGUF file; the architecture determines if their weights are normalised."""
    for key in ("expert_shared_count", "expert_group_count"):
        keys.require_one_of(key, 0, None)
    keys.require_one_of("expert_gating_func", 1, None)  # softmax
    keys.require_one_of("expert_weights_scale", 0.0, 1.0, None)
    keys.require_one_of("expert_weights_norm", normalised, None)
    return _experts(keys, "expert_count", "expert_used_count", size_key, normalised)


def sigmoid_experts_from_json(keys: ConfigKeys, *, has_bias: bool) -> Experts:
    """Experts weighted by sigmoids; `routed_scaling_factor` multiplies the weights."""
    normalised = keys.boolean("norm_topk_prob", default=True)
    return replace(
        experts_from_json(keys, "num_experts", "moe_intermediate_size", normalised=normalised),
        has_sigmoid_scores=True,
        has_bias=has_bias,
        scale=keys.number("routed_scaling_factor", "factor", 1.0),
    )


def sigmoid_experts_from_gguf(keys: ConfigKeys, *, has_bias: bool) -> Experts:
    """The experts' configuration from GGUF metadata; the weights are normalised."""
    keys.require_one_of("expert_gating_func", 2)  # sigmoid
    scale = keys.get("expert_weights_scale")
    others = keys.replaced(expert_gating_func=None, expert_weights_scale=None)
    return replace(
        experts_from_gguf(others, "expert_feed_forward_length", normalised=True),
        has_sigmoid_scores=True,
        has_bias=has_bias,
        scale=1.0 if scale in (None, 0.0) else keys.number("expert_weights_scale", "factor"),
    )


def stack_names(experts: str, *, gate: str, up: str, down: str) -> dict[str, str]:
    """The entries of `gguf_names` for experts: a stack per projection or, in older files, a tensor per expert."""
    names = {
        "ffn_gate": f"{experts}{STACK}{gate}",
        "ffn_up": f"{experts}{STACK}{up}",
        "ffn_down": f"{experts}{STACK}{down}",
    }
    return {f"{stored}_exps": name for stored, name in names.items()} | {
        f"{stored}.*": name for stored, name in names.items()
    }


def _experts(keys: ConfigKeys, count_key: str, chosen_key: str, size_key: str, normalised: bool) -> Experts:
    experts = Experts(
        num_experts=keys.integer(count_key, "num_experts"),
        num_chosen=keys.integer(chosen_key, "num_experts"),
        ffn_size=keys.integer(size_key, "ffn_size"),
        normalised=normalised,
    )
    keys.require(experts.num_chosen <= experts.num_experts, chosen_key, f"up to the {experts.num_experts} experts")
    return experts
