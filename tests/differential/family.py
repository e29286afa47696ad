"""The draws of one family, and the keys that many families have."""

from __future__ import annotations

from dataclasses import dataclass

from tests.differential.fields import Draw


@dataclass(frozen=True)
class Family:
    """The draws of one architecture: `always` in every config, some of `own`, rarely another key."""

    architecture: str
    model_type: str
    own: tuple[str, ...]
    always: tuple[tuple[str, Draw], ...] = ()
    instead: tuple[tuple[str, Draw], ...] = ()  # replace the common draws of these keys
    max_layers: int = 4


BASICS = (
    *("head_dim", "num_key_value_heads", "rms_norm_eps", "tie_word_embeddings", "max_position_embeddings"),
    *("rope_theta", "rope_scaling", "rope_parameters", "partial_rotary_factor"),
    "original_max_position_embeddings",
)
WINDOWS = ("sliding_window", "use_sliding_window", "max_window_layers", "layer_types")
SOFTCAPS = ("attn_logit_softcapping", "final_logit_softcapping", "query_pre_attn_scalar")
EXPERTS = ("num_experts_per_tok", "output_router_logits", "router_jitter_noise")
LONG = ("longrope", "longrope", "longrope", "longrope", "su", "yarn", "default", "linear")
SMALL_HEADS = ("head_dim", lambda random, shape: random.choice([shape.head_dim, 8, 12]))
