"""SmolVLM (Marafioti et al. 2025) and Idefics3 (Laurençon et al. 2024): a Llama that reads square tiles of pictures."""

from __future__ import annotations

from dataclasses import replace

from cactus_actors.models.checked_files import invalid
from cactus_actors.models.gguf_file import GGUFFile
from cactus_actors.models.mmproj_file import MmprojFile
from cactus_actors.workers.families import llama
from cactus_actors.workers.families.family import Family
from cactus_actors.workers.families.mmproj_reader import MmprojReader, siglip_names
from cactus_actors.workers.runtime.encoder_parts import merged
from cactus_actors.workers.runtime.graph import Graph
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.mmproj_config import require_gelu, vision_from_mmproj
from cactus_actors.workers.spec.model_config import ModelConfig
from cactus_actors.workers.spec.vision_config import VisionConfig, vision_from_json
from cactus_actors.workers.vision import siglip

# Defaults of Idefics3VisionConfig and SmolVLMVisionConfig of transformers for missing keys.
VISION_DEFAULTS = {
    "hidden_size": 1152,
    "intermediate_size": 3072,
    "num_hidden_layers": 12,
    "num_attention_heads": 16,
    "num_channels": 3,
    "image_size": 224,
    "patch_size": 32,
    "hidden_act": "gelu_pytorch_tanh",
    "layer_norm_eps": 1e-6,
}
IMAGE_TOKEN_ID = 128257
"""The placeholder where config.json names none."""


def encode(g: Graph, c: VisionConfig) -> None:
    """SigLIP, then pixel shuffle from space to depth and a projection: (patches / merged, hidden of the text)."""
    patches = siglip.encode(g, c, "vision_model")
    shuffled = merged(g, patches, c.merged_patches)
    g.hidden = g.linear(shuffled, ["connector.modality_projection.proj"], [g.config.hidden_size])


def read_json(keys: ConfigKeys) -> ModelConfig:
    """The keys of Idefics3ForConditionalGeneration, and of SmolVLMForConditionalGeneration, which has the same."""
    keys.require_one_of("auto_map", None)
    keys.require_one_of("quantization_config", None)
    # As in transformers, the text part's own key of this name is ignored.
    tied = keys.boolean("tie_word_embeddings", default=False)
    text_keys = keys.below("text_config").replaced(tie_word_embeddings=tied)
    text_keys.require_one_of("model_type", "llama", None)
    config = llama.read_json(text_keys)
    image_token_id = keys.integer("image_token_id", "token_id", IMAGE_TOKEN_ID)
    if image_token_id >= config.vocab_size:
        raise invalid(keys.path, f"image_token_id {image_token_id} is outside the vocabulary")
    vision = vision_from_json(
        keys,
        image_token_id=image_token_id,
        merge_size=keys.integer("scale_factor", "merge_size", 2),
        defaults=VISION_DEFAULTS,
    )
    return replace(config, family=FAMILY.name, vision=vision)


def read_gguf(_keys: ConfigKeys, file: GGUFFile) -> ModelConfig:
    """Files of the text part name the llama architecture, so that the Llama family reads them."""
    raise invalid(file.path, "the text part of SmolVLM has the architecture llama")


def read_mmproj(keys: ConfigKeys, mmproj: MmprojFile) -> VisionConfig:
    """The keys of the projector idefics3."""
    require_gelu(mmproj)
    return vision_from_mmproj(keys, mmproj, merge_size=keys.integer("projector.scale_factor", "merge_size"))


MMPROJ = MmprojReader(
    projector="idefics3",
    read=read_mmproj,
    names={**siglip_names("vision_model"), "mm.model.fc": "connector.modality_projection.proj"},
)


FAMILY = Family(
    name="SmolVLM",
    examples="SmolVLM 256M, 500M, 2.2B; SmolVLM2; Idefics3 8B",
    architectures=("SmolVLMForConditionalGeneration", "Idefics3ForConditionalGeneration"),
    model_types=("smolvlm", "idefics3"),
    gguf_architectures=(),
    read_json=read_json,
    read_gguf=read_gguf,
    forward=llama.forward,
    encode=encode,
    mmproj=MMPROJ,
    adjust_gguf=llama.rotate_half,
)
