"""The configs of Gemma 4: layers of two kinds, with heads and rotary embeddings of their own, some without keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cactus_actors.models.checked_files import invalid
from cactus_actors.models.gguf_file import GGUFFile
from cactus_actors.workers.families.family import decoder_from_gguf, decoder_from_json
from cactus_actors.workers.families.gemma4_pictures import with_pictures, with_whole_tiles
from cactus_actors.workers.spec.attention_heads import KV_HEADS, AttentionHeads, heads_from_json
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.experts_config import experts_from_gguf, experts_from_json
from cactus_actors.workers.spec.model_config import Experts, Layer, ModelConfig, PerLayerInputs
from cactus_actors.workers.spec.rope_config import rope_from_gguf, rope_from_json
from cactus_actors.workers.spec.rotary import Rope
from cactus_actors.workers.spec.sliding_window import window_from_gguf, window_from_json, windows_from_gguf
from cactus_actors.workers.spec.vision_config import has_processor

NAME = "Gemma 4"
FULL, SLIDING = "full_attention", "sliding_attention"
ROPES = {FULL: 0, SLIDING: 1}  # index of the rope of each kind
PERIOD = 6  # of layers, the last of which has no window, where the files do not say
ABSENT = "absent"
# Defaults of Gemma4TextConfig of transformers for missing keys.
DEFAULTS = {
    "vocab_size": 262_144,
    "hidden_size": 2304,
    "intermediate_size": 9216,
    "num_hidden_layers": 30,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "global_head_dim": 512,
    "hidden_activation": "gelu_pytorch_tanh",
    "max_position_embeddings": 131_072,
    "tie_word_embeddings": True,
    "sliding_window": 512,
    "vocab_size_per_layer_input": 262_144,
    "hidden_size_per_layer_input": 256,
    "per_layer_config": ABSENT,  # null is another thing: no layer differs
}
LOCAL_THETA = 10000.0
DEFAULT_ROPES = {
    SLIDING: {"rope_type": "default", "rope_theta": LOCAL_THETA},
    FULL: {"rope_type": "proportional", "rope_theta": 1000000.0, "partial_rotary_factor": 0.25},
}

Heads = Mapping[str, AttentionHeads]
"""Kind of layers -> their heads."""


def read_json(keys: ConfigKeys) -> ModelConfig:
    """The keys of Gemma4ForCausalLM or Gemma4ForConditionalGeneration, which reads pictures if it has a processor."""
    text = _text_from_json(keys)
    if keys.get("text_config") is None or keys.get("vision_config") is None or not has_processor(keys.path.parent):
        return text
    text_keys = keys.below("text_config")
    if text_keys.get("use_bidirectional_attention") is not None:
        text = with_whole_tiles(text)
    pad_token_id = text_keys.integer("pad_token_id", "token_id", 0)
    text_keys.require(pad_token_id < text.vocab_size, "pad_token_id", f"tokens of a vocabulary of {text.vocab_size}")
    return with_pictures(keys, text, pad_token_id)


def _text_from_json(keys: ConfigKeys) -> ModelConfig:
    keys.require_one_of("quantization_config", None)
    if keys.get("text_config") is not None:
        tied = keys.boolean("tie_word_embeddings", default=True)
        # As in transformers, the text part's own key of this name is ignored.
        keys = keys.below("text_config").replaced(tie_word_embeddings=tied)
    keys = keys.with_defaults(**DEFAULTS)
    keys.require_one_of("hidden_activation", "gelu_pytorch_tanh")
    keys.require_one_of("use_bidirectional_attention", "vision", None)  # of pictures only: text is causal
    kinds = _kinds_from_json(keys)
    heads = _heads_from_json(keys, kinds)
    return decoder_from_json(
        keys,
        NAME,
        layers=_layers_from_json(keys, kinds, heads),
        ropes=_ropes_from_json(keys, kinds, heads),
        attention_scale=1.0,
        logit_softcap=keys.number("final_logit_softcapping", "softcap", 0.0),
        per_layer_inputs=_inputs_from_json(keys),
        experts=_experts_from_json(keys),
        biases="attention",
    )


def _kinds_from_json(keys: ConfigKeys) -> list[str]:
    num_layers = keys.integer("num_hidden_layers", "num_layers")
    if keys.get("layer_types") is None:
        kinds = [SLIDING if (index + 1) % PERIOD else FULL for index in range(num_layers)]
    else:
        kinds = keys.strings("layer_types", num_layers)
    keys.require(set(kinds) <= {FULL, SLIDING}, "layer_types", f"{FULL} and {SLIDING}")
    return [*kinds[:-1], FULL]  # the last one is, whatever the file says


def _heads_from_json(keys: ConfigKeys, kinds: Sequence[str]) -> Heads:
    """The heads by `per_layer_config`; without it, those of layers without a window have keys of their own."""
    common = heads_from_json(keys)
    if keys.get("per_layer_config") == ABSENT:
        keys.require(keys.get("global_head_dim") is not None, "global_head_dim", "a number")
        if not keys.boolean("attention_k_eq_v", default=False):
            keys = keys.replaced(num_global_key_value_heads=None)
        return {SLIDING: common, FULL: _changed(keys, common, "global_head_dim", "num_global_key_value_heads")}
    given = keys.below("per_layer_config")
    heads: dict[str, AttentionHeads] = {}
    changed: dict[int, AttentionHeads] = {}
    for key in (name.removeprefix(given.prefix) for name in given.values):
        given.require(key.isdecimal() and int(key) < len(kinds), key, f"indices of the {len(kinds)} layers")
        layer = given.below(key)
        for name in (each.removeprefix(layer.prefix) for each in layer.values):
            layer.require(name in ("head_dim", "num_key_value_heads"), name, "head_dim and num_key_value_heads")
        changed[int(key)] = _changed(layer, common, "head_dim", "num_key_value_heads")
    for index, kind in enumerate(kinds):
        own = changed.get(index, common)
        is_same = heads.setdefault(kind, own) == own
        keys.require(is_same, "per_layer_config", f"the same for all layers of one kind; layer {index} has others")
    return {SLIDING: common, FULL: common} | heads


def _changed(keys: ConfigKeys, common: AttentionHeads, size_key: str, count_key: str) -> AttentionHeads:
    """The common heads with another size, and another number of key-value heads, where these keys are present."""
    head_dim = keys.integer(size_key, "head_dim", common.head_dim)
    num_kv_heads = keys.integer(count_key, "num_kv_heads", common.num_kv_heads)
    keys.require(head_dim % 2 == 0, size_key, "an even number")
    keys.require(common.num_heads % num_kv_heads == 0, count_key, f"a divisor of the {common.num_heads} heads")
    return AttentionHeads(common.num_heads, num_kv_heads, head_dim)


def _layers_from_json(keys: ConfigKeys, kinds: Sequence[str], heads: Heads) -> tuple[Layer, ...]:
    window = window_from_json(keys)
    keys.require(window > 0 or SLIDING not in kinds, "sliding_window", "a number, as some layers need it")
    sources = sources_of(keys, "num_kv_shared_layers", kinds)
    ffn_size = keys.integer("intermediate_size", "ffn_size")
    wide_size = 2 * ffn_size if keys.boolean("use_double_wide_mlp", default=False) else ffn_size
    shares_keys = keys.boolean("attention_k_eq_v", default=False)
    has_experts = keys.boolean("enable_moe_block", default=False)
    return tuple(
        Layer(
            window=window if kind == SLIDING else 0,
            rope=ROPES[kind],
            heads=heads[kind],
            has_experts=has_experts,
            ffn_size=ffn_size if source is None else wide_size,
            kv_layer=source,
            shares_key_projection=shares_keys and kind == FULL and source is None,
        )
        for kind, source in zip(kinds, sources, strict=True)
    )


def sources_of(keys: ConfigKeys, key: str, kinds: Sequence[str]) -> list[int | None]:
    """For each of the last layers the layer whose keys and values it reads: the last of its kind that has some."""
    first = len(kinds) - keys.integer(key, "count", 0)
    is_enough = first > 0 and set(kinds[:first]) == set(kinds)
    keys.require(is_enough, key, "a number that leaves a layer of each kind with keys of its own")
    last = {kind: index for index, kind in enumerate(kinds[:first])}
    return [last[kind] if index >= first else None for index, kind in enumerate(kinds)]


def _ropes_from_json(keys: ConfigKeys, kinds: Sequence[str], heads: Heads) -> tuple[Rope, ...]:
    for key in ("rope_scaling", "rope_theta", "partial_rotary_factor"):
        keys.require_one_of(key, None)
    if keys.get("rope_parameters") is None:
        keys = keys.replaced(rope_parameters=DEFAULT_ROPES)
    given = keys.below("rope_parameters")
    ropes = []
    for kind in ROPES:
        if kind in kinds:
            given.require(given.get(kind) is not None, kind, "an object, as some layers need it")
            section = given.below(kind)
            section.require(section.get("rope_theta") is not None, "rope_theta", "a number")
        ropes.append(rope_from_json(keys, heads[kind].head_dim, section=kind))
    return tuple(ropes)


def _inputs_from_json(keys: ConfigKeys) -> PerLayerInputs | None:
    size = keys.integer("hidden_size_per_layer_input", "shared_ffn_size")
    if size == 0:
        return None
    key, least = "vocab_size_per_layer_input", keys.integer("vocab_size", "vocab_size")
    num_rows = keys.integer(key, "vocab_size")
    keys.require(num_rows >= least, key, f"a row for each of the {least} tokens")
    return PerLayerInputs(size, num_rows)


def _experts_from_json(keys: ConfigKeys) -> Experts | None:
    if not keys.boolean("enable_moe_block", default=False):
        return None
    return experts_from_json(keys, "num_experts", "moe_intermediate_size", normalised=True, chosen_key="top_k_experts")


def read_gguf(keys: ConfigKeys, file: GGUFFile) -> ModelConfig:
    """The metadata below `gemma4.`; what differs between layers is an array there, or has a key of each kind."""
    num_layers = keys.integer("block_count", "num_layers")
    window, pattern = window_from_gguf(keys), keys.get("attention.sliding_window_pattern")
    is_unused = isinstance(pattern, list) and not any(pattern)
    keys.require(window > 0 or is_unused, "attention.sliding_window", "a number, as some layers need it")
    windows = windows_from_gguf(keys, window, PERIOD)
    kinds = [SLIDING if window else FULL for window in windows]
    heads = _heads_from_gguf(keys, kinds)
    sources = sources_of(keys, "attention.shared_kv_layers", kinds)
    ffn_sizes = of_each_layer(keys, "feed_forward_length", num_layers)
    has_experts = keys.get("expert_count") not in (None, 0)
    common = heads[SLIDING]
    one_of_all = {
        KV_HEADS: common.num_kv_heads,
        "attention.key_length": common.head_dim,
        "attention.value_length": common.head_dim,
        "feed_forward_length": min(ffn_sizes),
    }
    return decoder_from_gguf(
        keys.replaced(**one_of_all),
        file,
        NAME,
        layers=tuple(
            Layer(
                window=window,
                rope=ROPES[kind],
                heads=heads[kind],
                has_experts=has_experts,
                ffn_size=ffn_sizes[index],
                kv_layer=source,
                shares_key_projection=source is None and f"blk.{index}.attn_v.weight" not in file.tensors,
            )
            for index, (window, kind, source) in enumerate(zip(windows, kinds, sources, strict=True))
        ),
        ropes=_ropes_from_gguf(keys, file, heads),
        attention_scale=1.0,
        logit_softcap=keys.number("final_logit_softcapping", "softcap", 0.0),
        per_layer_inputs=_inputs_from_gguf(keys, file),
        experts=experts_from_gguf(keys, "expert_feed_forward_length", normalised=True) if has_experts else None,
    )


def _heads_from_gguf(keys: ConfigKeys, kinds: Sequence[str]) -> Heads:
    """The heads of layers without a window have the plain keys, those of the others keys that end in `_swa`."""
    num_heads = keys.integer("attention.head_count", "num_heads")
    counts = of_each_layer(keys, KV_HEADS, len(kinds))
    heads: dict[str, AttentionHeads] = {}
    for kind, suffix in ((FULL, ""), (SLIDING, "_swa")):
        size_key = f"attention.key_length{suffix}"
        used = {count for count, each in zip(counts, kinds, strict=True) if each == kind} or {counts[0]}
        keys.require(len(used) == 1, KV_HEADS, "one number for all layers of one kind")
        head_dim, num_kv_heads = keys.integer(size_key, "head_dim"), used.pop()
        keys.require(head_dim % 2 == 0, size_key, "an even number")
        keys.require_one_of(f"attention.value_length{suffix}", head_dim, None)
        keys.require(num_heads % num_kv_heads == 0, KV_HEADS, f"divisors of the {num_heads} heads")
        heads[kind] = AttentionHeads(num_heads, num_kv_heads, head_dim)
    return heads


def of_each_layer(keys: ConfigKeys, key: str, num_layers: int) -> list[int]:
    """A number for each layer, from an array or one number for all."""
    given = keys.get(key)
    numbers = given if isinstance(given, list) else [given] * num_layers
    are_valid = len(numbers) == num_layers and all(type(each) is int for each in numbers)
    keys.require(are_valid, key, f"a number, or one for each of {num_layers} layers")
    bounds = "num_kv_heads" if key == KV_HEADS else "ffn_size"
    return [keys.replaced(**{key: each}).integer(key, bounds) for each in numbers]


def _ropes_from_gguf(keys: ConfigKeys, file: GGUFFile, heads: Heads) -> tuple[Rope, ...]:
    """The rope of layers without a window has factors that keep most of its pairs from turning."""
    if "rope_freqs.weight" not in file.tensors:
        raise invalid(file.path, "tensor 'rope_freqs.weight' is missing")
    num_lanes = keys.integer("rope.dimension_count_swa", "head_dim", heads[SLIDING].head_dim)
    keys.require(num_lanes % 2 == 0, "rope.dimension_count_swa", "an even number")
    theta = keys.number("rope.freq_base_swa", "rope_theta", LOCAL_THETA)
    return (rope_from_gguf(keys, file, heads[FULL].head_dim), Rope(theta, num_lanes))


def _inputs_from_gguf(keys: ConfigKeys, file: GGUFFile) -> PerLayerInputs | None:
    """Their embedding has as many rows as that of the tokens, which other checks look for."""
    size = keys.integer("embedding_length_per_layer_input", "shared_ffn_size", 0)
    embedding = file.tensors.get("token_embd.weight")
    return None if size == 0 or embedding is None else PerLayerInputs(size, embedding.shape[0])
