"""The values of GGUF metadata that docs/reference/model-configs.md tries on every family."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from docs.generate.config_values import ABSENT, OTHERS, Trial, always, trial

_SCALED = {"rope.scaling.factor": 4.0, "rope.scaling.original_context_length": 64}
_YARN = {**_SCALED, "rope.scaling.type": "yarn"}


def _values(key: str, beside: dict[str, Any], **values: Any) -> Trial:
    """Values of a key as the page shows them; a name that ends in an underscore is a word of Python."""
    return Trial(key, {shown.rstrip("_"): always({key: value}) for shown, value in values.items()}, beside)


_TRIALS = (
    _values("vocab_size", {}, absent=ABSENT, others=99_999),
    trial("attention.sliding_window", ABSENT, 0, 8),
    _values("attention.value_length", {}, absent=ABSENT, others=999),
    Trial(
        "rope.dimension_count",
        {
            "even": lambda _, config: {"rope.dimension_count": config.ropes[0].rotary_dim},
            "odd": lambda _, config: {"rope.dimension_count": config.ropes[0].rotary_dim - 1},
        },
    ),
    Trial(
        "rope.scaling.type",
        {
            **{f"`{kind}`": always({"rope.scaling.type": kind}) for kind in ("none", "linear", "yarn", "longrope")},
            OTHERS: always({"rope.scaling.type": "dynamic"}),
        },
        _SCALED,
    ),
    _values("rope.scaling.attn_factor", _YARN, absent=ABSENT, others=2.0),
    _values("rope.scaling.yarn_attn_factor", _YARN, absent=ABSENT, others=2.0),
    _values("rope.scaling.yarn_ext_factor", _YARN, absent=ABSENT, others=2.0),
    Trial(
        "expert_gating_func",
        {
            "absent": always({"expert_gating_func": ABSENT}),
            "softmax": always({"expert_gating_func": 1}),
            "sigmoid": always({"expert_gating_func": 2}),
            "softmax of the chosen": always({"expert_gating_func": 3}),
            OTHERS: always({"expert_gating_func": 9}),
        },
    ),
    trial("expert_weights_norm", True, False),
    trial("expert_weights_scale", ABSENT, 1.0, 2.5),
    trial("expert_shared_count", 0, 1),
    trial("expert_group_count", 0, 2),
    trial("expert_used_count", 1, 2, 100),
    trial("altup.num_inputs", 2, 4, 1),
    trial("altup.active_idx", 0, 1, 100),
    trial("full_attention_interval", 2, 3),
    Trial(
        "attention.recurrent_layers",
        {
            "0 or 1 for each layer": lambda _, config: {"attention.recurrent_layers": [0] * config.num_layers},
            OTHERS: lambda _, config: {"attention.recurrent_layers": [7] * config.num_layers},
        },
    ),
    trial("nextn_predict_layers", 0, 1, 100),
    trial("ssm.conv_kernel", 2, 4, 0),
    trial("shortconv.l_cache", 2, 4, 0),
)
TRIALS_OF_GGUF: tuple[Trial, ...] = tuple(replace(each, names=(each.key,)) for each in _TRIALS)
"""The keys below the name of the architecture, in the order of the table; a refusal has the whole key."""
