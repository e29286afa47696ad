"""Random tiny models of every family: a config.json, and the storage of its weights."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any, Literal

from cactus_actors.protocol.pictures import PreparedPicture
from tests.differential import ropes
from tests.differential.encoders import WITH_PICTURES, drawn_encoder
from tests.differential.family import BASICS, EXPERTS, LONG, SMALL_HEADS, SOFTCAPS, WINDOWS, Family
from tests.differential.fields import FIELDS, TOGETHER, layer_kinds, one_of
from tests.differential.gemma_families import GEMMA3, GEMMA3N, GEMMA4
from tests.differential.qwen_encoders import QWEN_TYPES, with_sections
from tests.differential.shape import Shape
from tests.differential.texts import IMAGES, TEXTS

Head = Literal["as saved", "another", "the same", "missing", "alone"]
"""The output matrix in the file: for a tied model another matrix, or the embedding again; none at all; for a tied model
in place of the embedding.
"""


@dataclass(frozen=True)
class Configuration:
    """One model to try; `changed` are the keys that were drawn in addition to the sizes."""

    family: Family
    config: dict[str, Any]
    changed: tuple[str, ...]
    head: Head
    storage: str
    prompt_ids: tuple[int, ...]  # of a third of the vocabulary, so that some tokens occur again
    pictures: tuple[PreparedPicture, ...] = ()  # whose placeholders are in the prompt


MANY_EXPERTS = (
    ("num_experts", one_of(3, 4, 7)),
    ("num_experts_per_tok", one_of(1, 2, 3)),
    ("moe_intermediate_size", one_of(6, 12, 31)),
)
CONVOLVING = ("conv", "full_attention")

MINISTRAL3 = Family(
    "Ministral3ForCausalLM",
    "ministral3",
    (*BASICS, "sliding_window", "hidden_act"),
    always=(SMALL_HEADS, ("rope_parameters", ropes.growing_rope_parameters)),
    instead=(
        ("rope_parameters", ropes.growing_rope_parameters),
        ("rope_scaling", ropes.growing_rope_parameters),
    ),
)
GRANITE = Family(
    "GraniteForCausalLM",
    "granite",
    (
        *(*BASICS, "attention_bias", "mlp_bias", "hidden_act", "embedding_multiplier"),
        *("attention_multiplier", "residual_multiplier", "logits_scaling"),
    ),
    always=(("attention_multiplier", one_of(0.1, 0.25, 0.4)),),
    instead=(("logits_scaling", one_of(0.5, 1, 8.0)), ("residual_multiplier", one_of(0.22, 1.0, 2))),
)
DELTA_NET_KEYS = (
    *(*BASICS, "layer_types", "full_attention_interval", "attention_bias", "hidden_act"),
    *("linear_num_key_heads", "linear_num_value_heads", "linear_conv_kernel_dim"),
)
DELTA_NET_HEADS = (
    ("linear_num_key_heads", one_of(1, 2)),
    ("linear_num_value_heads", one_of(2, 4, 6)),
    ("linear_key_head_dim", one_of(4, 7, 16, 18)),
    ("linear_value_head_dim", one_of(5, 16, 33, 40)),
)
DELTA_NET_LAYERS = ("layer_types", layer_kinds("linear_attention", "full_attention"))
QWEN3_5 = Family(
    "Qwen3_5ForCausalLM",
    "qwen3_5_text",
    DELTA_NET_KEYS,
    always=(("head_dim", one_of(8, 16, 24)), *DELTA_NET_HEADS),
    instead=(DELTA_NET_LAYERS,),
    max_layers=6,
)
QWEN3_5_MOE = Family(
    "Qwen3_5MoeForCausalLM",
    "qwen3_5_moe_text",
    DELTA_NET_KEYS,
    always=(
        ("head_dim", one_of(8, 16, 24)),
        *(("num_experts", one_of(3, 4, 7)), ("num_experts_per_tok", one_of(1, 2, 3))),
        *(("moe_intermediate_size", one_of(6, 12, 31)), ("shared_expert_intermediate_size", one_of(5, 20))),
        *DELTA_NET_HEADS,
    ),
    instead=(DELTA_NET_LAYERS,),
    max_layers=6,
)
LFM3 = Family(
    "Lfm3ForCausalLM",
    "lfm3",
    (
        *("head_dim", "num_key_value_heads", "tie_word_embeddings", "max_position_embeddings", "norm_eps"),
        *("rope_theta", "rope_scaling", "rope_parameters", "partial_rotary_factor", "sliding_window"),
        *("layer_types", "conv_L_cache", "use_sandwich_norm", "use_attention_gate", "attention_bias"),
    ),
    always=(SMALL_HEADS,),
    instead=(
        ("layer_types", layer_kinds(*CONVOLVING, "sliding_attention")),
        ("rope_parameters", ropes.proportional_rope_parameters_by_layer),
    ),
    max_layers=7,
)
FAMILIES = (
    Family("LlamaForCausalLM", "llama", (*BASICS, "attention_bias", "mlp_bias", "hidden_act")),
    Family("MistralForCausalLM", "mistral", (*BASICS, "sliding_window")),
    Family("Qwen2ForCausalLM", "qwen2", (*BASICS, *WINDOWS)),
    Family("Qwen3ForCausalLM", "qwen3", (*BASICS, *WINDOWS, "attention_bias"), always=(SMALL_HEADS,)),
    Family(
        "Gemma2ForCausalLM",
        "gemma2",
        (*BASICS, *SOFTCAPS, *WINDOWS, "attention_bias"),
        always=(SMALL_HEADS,),
    ),
    GEMMA3,
    Family("Gemma3ForConditionalGeneration", "gemma3", GEMMA3.own, GEMMA3.always, GEMMA3.instead, 7),
    GEMMA3N,
    GEMMA4,
    Family("Gemma4ForConditionalGeneration", "gemma4", GEMMA4.own, GEMMA4.always, GEMMA4.instead, 7),
    Family(
        "Phi3ForCausalLM",
        "phi3",
        (*BASICS, "sliding_window"),
        instead=(
            ("rope_scaling", lambda random, shape: ropes.rope_scaling(random, shape, random.choice(LONG))),
            (
                "rope_parameters",
                lambda random, shape: ropes.rope_parameters(random, shape, random.choice(LONG)),
            ),
        ),
    ),
    Family(
        "SmolLM3ForCausalLM",
        "smollm3",
        (*BASICS, *WINDOWS, "no_rope_layers", "no_rope_layer_interval", "attention_bias", "mlp_bias"),
        max_layers=6,
    ),
    Family(
        "Lfm2ForCausalLM",
        "lfm2",
        (
            *(*BASICS, "layer_types", "full_attn_idxs", "conv_L_cache", "norm_eps", "block_ff_dim"),
            *("block_auto_adjust_ff_dim", "block_ffn_dim_multiplier", "block_multiple_of"),
        ),
        always=(("block_multiple_of", one_of(4, 10, 16)),),
        instead=(("layer_types", layer_kinds("conv", "full_attention")),),
        max_layers=6,
    ),
    Family(
        "MixtralForCausalLM",
        "mixtral",
        (*BASICS, *EXPERTS, "sliding_window"),
        always=(("num_local_experts", one_of(2, 3, 5)),),
    ),
    Family(
        "Qwen3MoeForCausalLM",
        "qwen3_moe",
        (*BASICS, *WINDOWS, *EXPERTS, "norm_topk_prob", "mlp_only_layers", "decoder_sparse_step"),
        always=MANY_EXPERTS,
    ),
    Family("Olmo2ForCausalLM", "olmo2", (*BASICS, "attention_bias", "hidden_act")),
    Family(
        "Olmo3ForCausalLM",
        "olmo3",
        (*BASICS, *WINDOWS, "attention_bias", "hidden_act"),
        instead=(("rope_parameters", ropes.rope_parameters_by_layer), ("rope_theta", one_of(500000, 10000.0))),
        max_layers=6,
    ),
    MINISTRAL3,
    Family("Mistral3ForConditionalGeneration", "mistral3", MINISTRAL3.own, MINISTRAL3.always, MINISTRAL3.instead),
    Family(
        "Exaone4ForCausalLM",
        "exaone4",
        (*BASICS, "sliding_window", "layer_types", "sliding_window_pattern", "hidden_act"),
        max_layers=6,
    ),
    GRANITE,
    Family(
        "GraniteMoeForCausalLM",
        "granitemoe",
        (*GRANITE.own, *EXPERTS),
        always=(*GRANITE.always, ("num_local_experts", one_of(2, 3, 5))),
        instead=GRANITE.instead,
    ),
    Family(
        "GraniteMoeSharedForCausalLM",
        "granitemoeshared",
        (*GRANITE.own, *EXPERTS, "shared_intermediate_size"),
        always=(*GRANITE.always, ("num_local_experts", one_of(2, 3, 5))),
        instead=GRANITE.instead,
    ),
    Family(
        "GraniteMoeHybridForCausalLM",
        "granitemoehybrid",
        (*GRANITE.own, *EXPERTS, "shared_intermediate_size", "position_embedding_type"),
        always=(
            *GRANITE.always,
            *(("num_local_experts", one_of(0, 0, 3, 5)), ("position_embedding_type", one_of("rope", "nope"))),
            *(("layer_types", layer_kinds("attention", "mamba")), ("mamba_n_heads", one_of(1, 2, 4))),
            *(("mamba_d_state", one_of(4, 7, 16, 40)), ("mamba_n_groups", one_of(1, 1, 2))),
            *(("mamba_d_conv", one_of(2, 3, 4)), ("mamba_conv_bias", one_of(True, True, False))),
        ),
        instead=(*GRANITE.instead, ("layer_types", layer_kinds("attention", "mamba", "mamba"))),
    ),
    Family(
        "GptOssForCausalLM",
        "gpt_oss",
        (
            *(*BASICS, *EXPERTS, "sliding_window", "layer_types", "attention_bias", "hidden_act"),
            *("swiglu_alpha", "swiglu_limit"),
        ),
        always=(SMALL_HEADS, ("num_local_experts", one_of(2, 3, 5)), ("num_experts_per_tok", one_of(1, 2))),
        max_layers=6,
    ),
    Family(
        "Lfm2MoeForCausalLM",
        "lfm2_moe",
        (
            *(*BASICS, *EXPERTS, "conv_L_cache", "norm_eps", "norm_topk_prob", "use_expert_bias"),
            *("routed_scaling_factor", "num_dense_layers", "tie_embedding"),
        ),
        always=(*MANY_EXPERTS, ("num_dense_layers", one_of(0, 1, 2)), ("layer_types", layer_kinds(*CONVOLVING))),
        instead=(("layer_types", layer_kinds(*CONVOLVING)),),
        max_layers=6,
    ),
    LFM3,
    QWEN3_5,
    QWEN3_5_MOE,
)
QWEN3_VL_KEYS = (*BASICS, "attention_bias", "hidden_act")
LONG_CONTEXT = ("max_position_embeddings", one_of(512))
FAMILIES += (
    *(
        Family(
            architecture,
            model_type,
            (*BASICS, "attention_bias", "mlp_bias", "hidden_act"),
            always=(LONG_CONTEXT,),
            instead=(LONG_CONTEXT,),
        )
        for architecture, model_type in (
            ("SmolVLMForConditionalGeneration", "smolvlm"),
            ("Idefics3ForConditionalGeneration", "idefics3"),
        )
    ),
    Family(
        "Lfm2VlForConditionalGeneration",
        "lfm2_vl",
        (*BASICS, "layer_types", "full_attn_idxs", "conv_L_cache", "norm_eps"),
        always=(("block_multiple_of", one_of(4, 10, 16)), LONG_CONTEXT),
        instead=(("layer_types", layer_kinds("conv", "full_attention")), LONG_CONTEXT),
    ),
    Family(
        "Lfm3VlForConditionalGeneration",
        "lfm3_vl",
        LFM3.own,
        always=(*LFM3.always, LONG_CONTEXT),
        instead=(*LFM3.instead, LONG_CONTEXT),
        max_layers=LFM3.max_layers,
    ),
    Family("Qwen3VLForConditionalGeneration", "qwen3_vl", QWEN3_VL_KEYS, (SMALL_HEADS, LONG_CONTEXT), (LONG_CONTEXT,)),
    Family(
        "Qwen3VLMoeForConditionalGeneration",
        "qwen3_vl_moe",
        (*QWEN3_VL_KEYS, *EXPERTS, "mlp_only_layers", "decoder_sparse_step"),
        always=(SMALL_HEADS, *MANY_EXPERTS, LONG_CONTEXT),
        instead=(LONG_CONTEXT,),
    ),
    *(
        Family(
            f"Qwen3_5{kind}ForConditionalGeneration",
            family.model_type.removesuffix("_text"),
            family.own,
            always=(*family.always, LONG_CONTEXT),
            instead=(*family.instead, LONG_CONTEXT),
            max_layers=family.max_layers,
        )
        for kind, family in (("", QWEN3_5), ("Moe", QWEN3_5_MOE))
    ),
)
ODD = (None, 0, -1, 1, 2.5, "8", [], {}, True)


def drawn(family: Family, random: Random) -> Configuration:
    """A model of the family: its sizes, and a few more keys."""
    shape = Shape.drawn(random, max_layers=family.max_layers)
    draws = dict(FIELDS) | dict(family.instead)
    config = shape.config | {key: draw(random, shape) for key, draw in family.always}
    keys = random.sample(family.own, min(random.choice([0, 1, 1, 2, 2, 3, 5]), len(family.own)))
    if random.random() < 0.25:
        keys.append(random.choice(sorted(FIELDS)))
    for key in tuple(keys):
        keys += [other for other in TOGETHER.get(key, ()) if random.random() < 0.5]
    for key in keys:
        config[key] = draws[key](random, shape)
    if random.random() < 0.1:
        config[random.choice(sorted(config))] = random.choice(ODD)
    if random.random() < 0.1:
        del config[random.choice(["num_key_value_heads", "max_position_embeddings"])]
    is_tied = config.get("tie_word_embeddings")
    prompt_ids = tuple(random.randrange(3, shape.vocab_size // 3) for _ in range(random.randint(2, 60)))
    pictures: tuple[PreparedPicture, ...] = ()
    if family.model_type in QWEN_TYPES:
        config = with_sections(config, random)
    whole = _whole(family, config, random)
    if family.model_type in WITH_PICTURES:
        encoder = drawn_encoder(family.model_type, shape.config, random)
        whole, pictures, prompt_ids = whole | encoder.keys, encoder.pictures, encoder.prompt(prompt_ids)
    return Configuration(
        family=family,
        config=whole,
        changed=tuple(sorted(set(keys))),
        head=random.choice(["as saved", "another", "another", "the same", "alone"])
        if is_tied
        else random.choice(["as saved"] * 19 + ["missing"]),
        storage=random.choice(["float32", "bfloat16", "float16"]),
        prompt_ids=prompt_ids,
        pictures=pictures,
    )


def _whole(family: Family, config: dict[str, Any], random: Random) -> dict[str, Any]:
    """The config with its names and ids; with images, the keys of the text are below `text_config`."""
    config |= {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    model_type = random.choice(FAMILIES).model_type if random.random() < 0.03 else family.model_type
    named = {"architectures": [family.architecture], "model_type": model_type}
    if model_type in TEXTS:
        above = {} if random.random() < 0.7 else {"tie_word_embeddings": random.choice([True, False])}
        text_type = random.choice(TEXTS[model_type])
        return named | IMAGES.get(model_type, {}) | above | {"text_config": config | {"model_type": text_type}}
    return named | config
