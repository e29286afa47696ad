"""LFM2-VL (Liquid AI 2025): LFM2 with SigLIP 2, which reads tiles of pictures in their own shapes."""

from __future__ import annotations

from dataclasses import replace

from cactus_actors.models.checked_files import invalid
from cactus_actors.models.gguf_file import GGUFFile
from cactus_actors.models.mmproj_file import MmprojFile
from cactus_actors.workers.families import lfm2
from cactus_actors.workers.families.family import Family
from cactus_actors.workers.families.mmproj_reader import PATCH_KERNEL, MmprojReader, siglip_names
from cactus_actors.workers.runtime.encoder_parts import activated, layer_norm, merged
from cactus_actors.workers.runtime.graph import Graph
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.mmproj_config import num_rows, require_gelu, side_of_positions, vision_from_mmproj
from cactus_actors.workers.spec.model_config import ModelConfig
from cactus_actors.workers.spec.vision_config import (
    Projector,
    VisionConfig,
    activation_of,
    vision_from_json,
)
from cactus_actors.workers.vision import siglip

# Defaults of Lfm2VlConfig and Siglip2VisionConfig of transformers for missing keys.
DEFAULTS = {
    "image_token_id": 396,
    "projector_hidden_act": "gelu",
    "projector_hidden_size": 2560,
    "projector_bias": True,
    "projector_use_layernorm": True,
    "downsample_factor": 2,
    "tie_word_embeddings": True,
}
VISION_DEFAULTS = {
    "hidden_size": 768,
    "intermediate_size": 3072,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "num_channels": 3,
    "patch_size": 16,
    "num_patches": 256,
    "hidden_act": "gelu_pytorch_tanh",
    "layer_norm_eps": 1e-6,
}
NORM_EPS = 1e-5
"""The epsilon of the projector's LayerNorm: torch's default."""


def encode(g: Graph, c: VisionConfig) -> None:
    """SigLIP 2, then pixel shuffle from space to depth and two projections: (patches / merged, hidden of the text)."""
    assert c.projector is not None, "the config describes it"
    name = "multi_modal_projector"
    x = merged(g, siglip.encode(g, c, "vision_tower"), c.merged_patches)
    if c.projector.has_norm:
        x = layer_norm(g, x, f"{name}.layer_norm", NORM_EPS)
    h = g.linear(x, [f"{name}.linear_1"], [c.projector.hidden_size], bias=c.projector.has_bias)
    h = activated(g, h, c.projector.activation)
    g.hidden = g.linear(h, [f"{name}.linear_2"], [g.config.hidden_size], bias=c.projector.has_bias)


def read_json(keys: ConfigKeys) -> ModelConfig:
    """The keys of Lfm2VlForConditionalGeneration."""
    keys.require_one_of("auto_map", None)
    keys.require_one_of("quantization_config", None)
    keys = keys.with_defaults(**DEFAULTS)
    # As in transformers, the text part's own keys of these names are ignored.
    tied = keys.boolean("tie_word_embeddings" if keys.get("tie_embedding") is None else "tie_embedding", default=True)
    text_keys = keys.below("text_config").replaced(tie_word_embeddings=tied, tie_embedding=None)
    text_keys.require_one_of("model_type", "lfm2", None)
    config = lfm2.read_json(text_keys)
    image_token_id = keys.integer("image_token_id", "token_id")
    if image_token_id >= config.vocab_size:
        raise invalid(keys.path, f"image_token_id {image_token_id} is outside the vocabulary")
    vision = vision_from_json(
        keys,
        image_token_id=image_token_id,
        merge_size=keys.integer("downsample_factor", "merge_size"),
        defaults=VISION_DEFAULTS,
        positions="interpolated",
        has_channels_last=True,
        has_square_tiles=False,
        projector=Projector(
            hidden_size=keys.integer("projector_hidden_size", "ffn_size"),
            activation=activation_of(keys, "projector_hidden_act"),
            has_bias=keys.boolean("projector_bias", default=True),
            has_norm=keys.boolean("projector_use_layernorm", default=True),
        ),
    )
    return replace(config, family=FAMILY.name, vision=vision)


def read_gguf(_keys: ConfigKeys, file: GGUFFile) -> ModelConfig:
    """Files of the text part name the architecture of LFM2, so that its family reads them."""
    raise invalid(file.path, "the text part of LFM2-VL has the architecture lfm2")


def read_mmproj(keys: ConfigKeys, mmproj: MmprojFile) -> VisionConfig:
    """The keys of the projector lfm2, whose `image_size` is not that of the positions."""
    require_gelu(mmproj)
    tensors = mmproj.file.tensors
    return vision_from_mmproj(
        keys,
        mmproj,
        merge_size=keys.integer("projector.scale_factor", "merge_size"),
        positions_per_side=side_of_positions(mmproj),
        positions="interpolated",
        has_channels_last=True,
        has_square_tiles=False,
        projector=Projector(
            hidden_size=num_rows(mmproj, "mm.1.weight"),
            activation="gelu",  # the files do not say it; that of the released models
            has_bias="mm.1.bias" in tensors,
            has_norm="mm.input_norm.weight" in tensors,
        ),
    )


MMPROJ = MmprojReader(
    projector="lfm2",
    read=read_mmproj,
    names={
        **siglip_names("vision_tower"),
        "mm.input_norm": "multi_modal_projector.layer_norm",
        "mm.1": "multi_modal_projector.linear_1",
        "mm.2": "multi_modal_projector.linear_2",
    },
    composed={
        "vision_tower.embeddings.patch_embedding": PATCH_KERNEL,
    },
)


FAMILY = Family(
    name="LFM2-VL",
    examples="LFM2-VL 450M, 1.6B, 3B",
    architectures=("Lfm2VlForConditionalGeneration",),
    model_types=("lfm2_vl",),
    gguf_architectures=(),
    read_json=read_json,
    read_gguf=read_gguf,
    forward=lfm2.forward,
    encode=encode,
    mmproj=MMPROJ,
    gguf_names=lfm2.NAMES_OF_GGUF,
    unused=("vision_tower.head.",),
)
