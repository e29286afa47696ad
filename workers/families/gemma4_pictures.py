"""The config of Gemma 4's encoder of pictures, and how it is read from a GGUF file of its own (mmproj)."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from cactus_actors.models.checked_files import invalid
from cactus_actors.models.mmproj_file import MmprojFile
from cactus_actors.workers.families.mmproj_reader import PATCH_KERNEL, MmprojReader
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.mmproj_config import num_rows, vision_from_mmproj
from cactus_actors.workers.spec.model_config import ModelConfig
from cactus_actors.workers.spec.vision_config import PixelScaling, VisionConfig, pixel_scaling
from cactus_actors.workers.vision.gemma4_vision import NAME

# Defaults of Gemma4VisionConfig of transformers for missing keys.
DEFAULTS = {
    "model_type": "gemma4_vision",
    "hidden_size": 768,
    "intermediate_size": 3072,
    "num_hidden_layers": 16,
    "num_attention_heads": 12,
    "num_key_value_heads": 12,
    "head_dim": 64,
    "hidden_activation": "gelu_pytorch_tanh",
    "rms_norm_eps": 1e-6,
    "pooling_kernel_size": 3,
    "patch_size": 16,
    "position_embedding_size": 10240,
}
THETA = 100.0
POSITIONS = "v.position_embd.weight"


def with_pictures(keys: ConfigKeys, text: ModelConfig, pad_token_id: int) -> ModelConfig:
    """The model with the encoder that the section `vision_config` describes.

    `pad_token_id` is the token whose embeddings of each layer the placeholders have.
    """
    image_token_id = keys.integer("image_token_id", "token_id", 258880)
    keys.require(image_token_id < text.vocab_size, "image_token_id", f"tokens of a vocabulary of {text.vocab_size}")
    vision = keys.below("vision_config").with_defaults(**DEFAULTS)
    vision.require_one_of("model_type", "gemma4_vision")
    vision.require_one_of("hidden_activation", "gelu_pytorch_tanh")
    num_heads = vision.integer("num_attention_heads", "num_heads")
    num_kv_heads = vision.integer("num_key_value_heads", "num_kv_heads")
    vision.require(num_heads % num_kv_heads == 0, "num_key_value_heads", f"a divisor of the {num_heads} heads")
    merge_size = vision.integer("pooling_kernel_size", "merge_size")
    # With 1, transformers drops the patches and keeps the padding.
    vision.require(merge_size > 1, "pooling_kernel_size", "numbers from 2 on")
    head_dim = vision.integer("head_dim", "head_dim")
    vision.require(head_dim % 4 == 0, "head_dim", "multiples of 4, for two rotary embeddings")
    return replace(
        text,
        vision=VisionConfig(
            image_token_id=image_token_id,
            hidden_size=vision.integer("hidden_size", "hidden_size"),
            ffn_size=vision.integer("intermediate_size", "ffn_size"),
            num_layers=vision.integer("num_hidden_layers", "num_layers"),
            num_heads=num_heads,
            num_kv_heads=num_kv_heads,
            own_head_dim=head_dim,
            patch_size=vision.integer("patch_size", "patch_size"),
            positions_per_side=vision.integer("position_embedding_size", "num_patches"),
            merge_size=merge_size,
            norm_eps=vision.number("rms_norm_eps", "norm_eps"),
            activation="gelu_pytorch_tanh",
            scaling=_scaling(keys),
            positions="by_axes",
            has_channels_last=True,
            has_square_tiles=False,
            rotary_theta=_theta(vision),
            turns_apart=True,
            clips=vision.boolean("use_clipped_linears", default=False),
            standardises=vision.boolean("standardize", default=False),
            stand_in_id=pad_token_id,
        ),
    )


def _theta(vision: ConfigKeys) -> float:
    if vision.get("rope_parameters") is None:
        return THETA
    rope = vision.below("rope_parameters")
    rope.require_one_of("rope_type", "axial", "default", None)
    return rope.number("rope_theta", "rope_theta", THETA)


def _scaling(keys: ConfigKeys) -> PixelScaling:
    """The scaling of the image processor, which normalises only if asked, and then of the model."""
    return _of_model(pixel_scaling(keys.path.parent, normalises=False, mean=0.0, std=1.0))


def _of_model(scaling: PixelScaling) -> PixelScaling:
    """The scaling followed by that of the model: 2 * (value - 1/2)."""
    mean, std, rescale = scaling
    red, green, blue = (each + spread / 2 for each, spread in zip(mean, std, strict=True))
    halves = std[0] / 2, std[1] / 2, std[2] / 2
    return PixelScaling((red, green, blue), halves, rescale)


def read_mmproj(keys: ConfigKeys, mmproj: MmprojFile) -> VisionConfig:
    """The keys of the projector gemma4v; files have no `use_gelu`."""
    clip = ConfigKeys(mmproj.file.path, mmproj.file.metadata, "clip.")
    clip.require_one_of("use_gelu", True, None)
    clip.require_one_of("use_silu", False, None)
    num_heads = keys.integer("attention.head_count", "num_heads")
    num_kv_heads = keys.integer("attention.head_count_kv", "num_kv_heads", num_heads)
    keys.require(num_heads % num_kv_heads == 0, "attention.head_count_kv", f"a divisor of the {num_heads} heads")
    head_dim, rest = divmod(num_rows(mmproj, "v.blk.0.attn_q.weight"), num_heads)
    keys.require(rest == 0 and head_dim % 4 == 0, "attention.head_count", "heads of equal size, a multiple of 4 lanes")
    merge_size = keys.integer("projector.scale_factor", "merge_size", 3)
    keys.require(merge_size > 1, "projector.scale_factor", "numbers from 2 on")
    table = mmproj.file.tensors.get(POSITIONS)
    if table is None or len(table.shape) != 3:
        raise invalid(mmproj.file.path, f"no tensor {POSITIONS!r} of three dimensions")
    vision = vision_from_mmproj(
        keys,
        mmproj,
        merge_size=merge_size,
        num_kv_heads=num_kv_heads,
        own_head_dim=head_dim,
        positions_per_side=table.shape[1],
        positions="by_axes",
        has_channels_last=True,
        has_square_tiles=False,
        rotary_theta=THETA,
        turns_apart=True,
        clips=any(name.endswith(".input_max") for name in mmproj.file.tensors if name.startswith("v.")),
        standardises="v.std_bias" in mmproj.file.tensors,
    )
    return replace(vision, scaling=_of_model(vision.scaling))


def join(text: ModelConfig, vision: VisionConfig, mmproj: MmprojFile) -> ModelConfig:
    """The model with its encoder.

    Its file does not say whether the tokens of a picture attend to each other: as in the released models, they do in
    models without inputs of each layer.
    """
    tokenizer = ConfigKeys(mmproj.text.path, mmproj.text.metadata, "tokenizer.ggml.")
    stand_in_id = tokenizer.integer("padding_token_id", "token_id", 0)
    tokenizer.require(stand_in_id < text.vocab_size, "padding_token_id", f"tokens of a vocabulary of {text.vocab_size}")
    if text.per_layer_inputs is None:
        text = with_whole_tiles(text)
    return replace(text, vision=replace(vision, stand_in_id=stand_in_id))


def with_whole_tiles(text: ModelConfig) -> ModelConfig:
    """The model whose layers with a window see whole tiles."""
    return replace(text, layers=tuple(replace(each, sees_whole_tiles=each.window > 0) for each in text.layers))


_LAYER, _STORED = f"{NAME}.encoder.layers.*", "v.blk.*"
_LINEAR = {
    **{f"attn_{part}": f"self_attn.{part}_proj" for part in "qkv"},
    "attn_out": "self_attn.o_proj",
    **{f"ffn_{part}": f"mlp.{part}_proj" for part in ("gate", "up", "down")},
}
_NORMS = {
    "ln1": "input_layernorm",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "attn_post_norm": "post_attention_layernorm",
    "ln2": "pre_feedforward_layernorm",
    "ffn_post_norm": "post_feedforward_layernorm",
}
_BOUNDS = [f"{side}_{end}" for side, end in product(("input", "output"), ("min", "max"))]

MMPROJ = MmprojReader(
    projector="gemma4v",
    read=read_mmproj,
    names={
        "v.position_embd": f"{NAME}.patch_embedder.position_embedding_table",
        **{f"{_STORED}.{stored}": f"{_LAYER}.{name}" for stored, name in _NORMS.items()},
        **{f"{_STORED}.{stored}": f"{_LAYER}.{name}.linear" for stored, name in _LINEAR.items()},
        **{
            f"{_STORED}.{stored}.{bound}": f"{_LAYER}.{name}.{bound}"
            for (stored, name), bound in product(_LINEAR.items(), _BOUNDS)
        },
        "v.std_bias": f"{NAME}.std_bias",
        "v.std_scale": f"{NAME}.std_scale",
        "mm.input_projection": "embed_vision.embedding_projection",
    },
    composed={f"{NAME}.patch_embedder.input_proj": PATCH_KERNEL},
    join=join,
)
