"""Gemma 3 (Gemma Team 2025): Gemma 2 with norms on queries and keys in the place of soft caps.

Five layers with a window come before each layer without; the two kinds have separate rotary embeddings. Larger models
read pictures: SigLIP encodes them, and the tokens of a tile attend to each other in all layers.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from cactus_actors.models.checked_files import invalid
from cactus_actors.models.gguf_file import GGUFFile
from cactus_actors.models.mmproj_file import MmprojFile
from cactus_actors.workers.families import gemma2
from cactus_actors.workers.families.decoder_parts import normed_queries_keys_values
from cactus_actors.workers.families.family import Family, decoder_from_gguf, decoder_from_json
from cactus_actors.workers.families.mmproj_reader import Composed, MmprojReader, siglip_names
from cactus_actors.workers.runtime.encoder_parts import pooled, transposed_linear
from cactus_actors.workers.runtime.graph import Graph
from cactus_actors.workers.spec.attention_heads import heads_from_gguf, heads_from_json
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.mmproj_config import require_gelu, vision_from_mmproj
from cactus_actors.workers.spec.model_config import Layer, ModelConfig
from cactus_actors.workers.spec.rope_config import rope_from_gguf, rope_from_json
from cactus_actors.workers.spec.rotary import Rope
from cactus_actors.workers.spec.sliding_window import (
    window_from_gguf,
    window_from_json,
    windows_from_gguf,
    windows_from_json,
)
from cactus_actors.workers.spec.vision_config import VisionConfig, has_processor, vision_from_json
from cactus_actors.workers.vision import siglip

# Defaults of Gemma3TextConfig of transformers for missing keys.
DEFAULTS = {
    **gemma2.DEFAULTS,
    "vocab_size": 262208,
    "num_attention_heads": 8,
    "max_position_embeddings": 131072,
    "attn_logit_softcapping": None,
    "final_logit_softcapping": None,
    "sliding_window_pattern": 6,
    "rope_theta": 1000000.0,
    "rope_local_base_freq": 10000.0,
}
# Defaults of SiglipVisionConfig of transformers for missing keys.
VISION_DEFAULTS = {
    "model_type": "siglip_vision_model",
    "hidden_size": 768,
    "intermediate_size": 3072,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "num_channels": 3,
    "image_size": 224,
    "patch_size": 16,
    "hidden_act": "gelu_pytorch_tanh",
    "layer_norm_eps": 1e-6,
}
LARGEST_NUM_LAYERS = 62
"""Number of layers of the 27B model, the one whose queries are not scaled by the head size."""

GLOBAL, LOCAL = 0, 1  # indices of the ropes


def encode(g: Graph, c: VisionConfig) -> None:
    """SigLIP, then means of squares of patches, normed, and a projection: (patches / merged, hidden of the text)."""
    name = "multi_modal_projector"
    means = pooled(g, siglip.encode(g, c, "vision_tower"), c.merged_patches)
    normed = g.rms_norm(means, f"{name}.mm_soft_emb_norm", plus_one=True)
    g.hidden = transposed_linear(g, normed, f"{name}.mm_input_projection_weight", g.config.hidden_size)


def read_json(keys: ConfigKeys) -> ModelConfig:
    """The keys of Gemma3ForCausalLM or Gemma3ForConditionalGeneration, which reads pictures if it has a processor."""
    text = _text_from_json(keys)
    if keys.get("vision_config") is None or not has_processor(keys.path.parent):
        return text
    image_token_id = keys.integer("image_token_index", "token_id", keys.integer("image_token_id", "token_id", 262144))
    if image_token_id >= text.vocab_size:
        raise invalid(keys.path, f"image_token_index {image_token_id} is outside the vocabulary")
    vision = vision_from_json(
        keys,
        image_token_id=image_token_id,
        merge_size=_merge_size(keys),
        defaults=VISION_DEFAULTS,
        positions="whole",
    )
    return with_encoder(text, vision)


def with_encoder(text: ModelConfig, vision: VisionConfig) -> ModelConfig:
    """The model whose layers see whole tiles."""
    layers = tuple(replace(layer, sees_whole_tiles=True) for layer in text.layers)
    return replace(text, layers=layers, vision=vision)


def _merge_size(keys: ConfigKeys) -> int:
    """The side in patches of the squares whose means are embeddings."""
    vision = keys.below("vision_config").with_defaults(**VISION_DEFAULTS)
    vision.require_one_of("model_type", "siglip_vision_model")
    patch_size = vision.integer("patch_size", "patch_size")
    per_side, rest = divmod(vision.integer("image_size", "image_size"), patch_size)
    vision.require(per_side > 0 and rest == 0, "image_size", f"multiples of patch_size, {patch_size}")
    key = "mm_tokens_per_image"
    num_tokens = keys.integer(key, "num_patches", 256)
    side = math.isqrt(num_tokens)
    keys.require(side**2 == num_tokens and per_side % side == 0, key, f"squares of divisors of {per_side}")
    return per_side // side


def _text_from_json(keys: ConfigKeys) -> ModelConfig:
    keys.require_one_of("quantization_config", None)
    if keys.get("text_config") is not None:
        tied = keys.boolean("tie_word_embeddings", default=True)
        # As in transformers, the text part's own keys of these names are ignored.
        keys = keys.below("text_config").replaced(tie_word_embeddings=tied, final_logit_softcapping=None)
    keys = keys.with_defaults(**DEFAULTS)
    gemma2.check_supported(keys)
    keys.require_one_of("attn_logit_softcapping", None)
    period = keys.integer("sliding_window_pattern", "num_layers")
    windows = windows_from_json(keys, window_from_json(keys), lambda index: (index + 1) % period != 0)
    return decoder_from_json(
        keys,
        FAMILY.name,
        layers=layers_of(windows),
        ropes=ropes_from_json(keys),
        attention_scale=keys.number("query_pre_attn_scalar", "head_dim") ** -0.5,
        logit_softcap=keys.number("final_logit_softcapping", "softcap", 0.0),
        biases="attention",
    )


def layers_of(windows: list[int]) -> tuple[Layer, ...]:
    """Layers that see all positions have the global rope, the others the local one."""
    return tuple(Layer(window=window, rope=LOCAL if window else GLOBAL) for window in windows)


def ropes_from_json(keys: ConfigKeys) -> tuple[Rope, Rope]:
    """The global and the local rope; in older files only the global one is scaled."""
    head_dim = heads_from_json(keys).head_dim
    local_keys = keys.replaced(rope_theta=keys.number("rope_local_base_freq", "rope_theta"), rope_scaling=None)
    return (
        rope_from_json(keys, head_dim, section="full_attention"),
        rope_from_json(local_keys, head_dim, section="sliding_attention"),
    )


def read_gguf(keys: ConfigKeys, file: GGUFFile) -> ModelConfig:
    """The metadata below `gemma3.`; files of the larger models have their text part alone."""
    windows = windows_from_gguf(keys, window_from_gguf(keys), period=6)
    return decoder_from_gguf(
        keys,
        file,
        FAMILY.name,
        layers=layers_of(windows),
        ropes=ropes_from_gguf(keys, file),
        attention_scale=gemma2.scale_from_gguf(keys, LARGEST_NUM_LAYERS),
        logit_softcap=keys.number("final_logit_softcapping", "softcap", 0.0),
    )


def ropes_from_gguf(keys: ConfigKeys, file: GGUFFile) -> tuple[Rope, Rope]:
    """The global and the local rope; only the global one is scaled."""
    head_dim = heads_from_gguf(keys).head_dim
    local_rope = rope_from_gguf(keys, file, head_dim, theta_key="rope.freq_base_swa")
    return rope_from_gguf(keys, file, head_dim), replace(local_rope, scaling=None)


def read_mmproj(keys: ConfigKeys, mmproj: MmprojFile) -> VisionConfig:
    """The keys of the projector gemma3; four patches per side are one embedding in all released models."""
    require_gelu(mmproj)
    merge_size = keys.integer("projector.scale_factor", "merge_size", 4)
    return vision_from_mmproj(keys, mmproj, merge_size=merge_size, positions="whole")


def _join(text: ModelConfig, vision: VisionConfig, _mmproj: MmprojFile) -> ModelConfig:
    return with_encoder(text, vision)


def _without_one(_vision: VisionConfig, gains: NDArray[np.float32]) -> NDArray[np.float32]:
    return gains - np.float32(1.0)


MMPROJ = MmprojReader(
    projector="gemma3",
    read=read_mmproj,
    names={
        **siglip_names("vision_tower"),
        "mm.input_projection": "multi_modal_projector.mm_input_projection_weight",
    },
    composed={
        "multi_modal_projector.mm_soft_emb_norm": Composed(
            parts=("mm.soft_emb_norm.weight",),
            part_shape=lambda vision: (vision.hidden_size,),
            shape=lambda vision: (vision.hidden_size,),
            compose=_without_one,
        )
    },
    join=_join,
)

FAMILY = Family(
    name="Gemma 3",
    examples="Gemma 3 270M, 1B, 4B, 12B, 27B",
    architectures=("Gemma3ForCausalLM", "Gemma3ForConditionalGeneration"),
    model_types=("gemma3_text", "gemma3"),
    gguf_architectures=("gemma3",),
    read_json=read_json,
    read_gguf=read_gguf,
    forward=partial(gemma2.forward, project=partial(normed_queries_keys_values, plus_one=True)),
    encode=encode,
    mmproj=MMPROJ,
    unused=("vision_tower.head.",),
    gguf_names=gemma2.NAMES_OF_GGUF,
    adjust_gguf=gemma2.without_one,
)
