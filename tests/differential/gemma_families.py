"""The draws of the Gemma families from Gemma 3 on."""

from __future__ import annotations

from tests.differential import ropes
from tests.differential.family import BASICS, SMALL_HEADS, SOFTCAPS, WINDOWS, Family
from tests.differential.fields import both_layer_kinds, ffn_sizes, one_of, shares

GEMMA3 = Family(
    "Gemma3ForCausalLM",
    "gemma3_text",
    (*BASICS, *SOFTCAPS, *WINDOWS, "attention_bias", "sliding_window_pattern", "rope_local_base_freq"),
    always=(SMALL_HEADS,),
    instead=(("rope_parameters", ropes.rope_parameters_by_layer),),
    max_layers=7,
)
GEMMA3N = Family(
    "Gemma3nForCausalLM",
    "gemma3n_text",
    (
        *(*BASICS, "attention_bias", "rope_local_base_freq", "final_logit_softcapping", "hidden_activation"),
        *("sliding_window", "layer_types", "num_kv_shared_layers", "intermediate_size"),
        *("activation_sparsity_pattern", "altup_active_idx", "altup_correct_scale", "altup_num_inputs"),
    ),
    always=(
        SMALL_HEADS,
        ("hidden_size_per_layer_input", one_of(5, 8, 20)),
        ("vocab_size_per_layer_input", lambda random, shape: shape.vocab_size - random.choice([0, 0, 7])),
        ("layer_types", both_layer_kinds),
        ("num_kv_shared_layers", lambda random, shape: random.randint(0, max(0, shape.num_layers - 2))),
        *(("laurel_rank", one_of(1, 3, 8)), ("activation_sparsity_pattern", shares)),
    ),
    instead=(
        *(("rope_parameters", ropes.rope_parameters_by_layer), ("layer_types", both_layer_kinds)),
        *(("sliding_window", one_of(1, 5, 13, 40, 4096)), ("attention_bias", one_of(True, False))),
        ("intermediate_size", ffn_sizes),
    ),
    max_layers=7,
)
GEMMA4 = Family(
    "Gemma4ForCausalLM",
    "gemma4_text",
    (
        *("num_key_value_heads", "rms_norm_eps", "tie_word_embeddings", "max_position_embeddings", "attention_bias"),
        *("rope_parameters", "sliding_window", "layer_types", "final_logit_softcapping", "attention_k_eq_v"),
        *("num_kv_shared_layers", "num_global_key_value_heads", "use_double_wide_mlp", "use_bidirectional_attention"),
        *("per_layer_config", "hidden_activation", "vocab_size_per_layer_input"),
    ),
    always=(
        SMALL_HEADS,
        ("global_head_dim", one_of(8, 14, 16, 20)),
        ("hidden_size_per_layer_input", one_of(0, 5, 8, 20)),
        ("vocab_size_per_layer_input", lambda _random, shape: shape.vocab_size),
        ("layer_types", both_layer_kinds),
        ("num_kv_shared_layers", lambda random, shape: random.randint(0, max(0, shape.num_layers - 2))),
        ("attention_k_eq_v", one_of(False, True)),
        ("enable_moe_block", one_of(False, False, True)),
        *(("num_experts", one_of(3, 4, 7)), ("top_k_experts", one_of(1, 2, 3))),
        ("moe_intermediate_size", one_of(6, 12, 31)),
    ),
    instead=(
        ("rope_parameters", ropes.proportional_rope_parameters_by_layer),
        ("layer_types", both_layer_kinds),
        *(("attention_bias", one_of(True, False)), ("sliding_window", one_of(1, 5, 13, 40, 4096))),
        ("use_bidirectional_attention", one_of("vision", "all", None)),
        ("vocab_size_per_layer_input", lambda random, shape: shape.vocab_size + random.choice([-1, 0, 7])),
    ),
    max_layers=7,
)
