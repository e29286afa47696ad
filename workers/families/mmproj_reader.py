"""How a family reads its encoder of pictures from a GGUF file of its own (mmproj), for the families that have one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cactus_actors.models.mmproj_file import MmprojFile
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.model_config import ModelConfig
from cactus_actors.workers.spec.vision_config import VisionConfig

LAYER = "*"
"""The place of a layer's number in the names of tensors."""

_SIGLIP_NAMES = {
    "v.patch_embd": "embeddings.patch_embedding",
    "v.position_embd": "embeddings.position_embedding",
    "v.post_ln": "post_layernorm",
    "v.blk.*.ln1": "encoder.layers.*.layer_norm1",
    "v.blk.*.attn_q": "encoder.layers.*.self_attn.q_proj",
    "v.blk.*.attn_k": "encoder.layers.*.self_attn.k_proj",
    "v.blk.*.attn_v": "encoder.layers.*.self_attn.v_proj",
    "v.blk.*.attn_out": "encoder.layers.*.self_attn.out_proj",
    "v.blk.*.ln2": "encoder.layers.*.layer_norm2",
    "v.blk.*.ffn_up": "encoder.layers.*.mlp.fc1",
    "v.blk.*.ffn_down": "encoder.layers.*.mlp.fc2",
}

Shape = tuple[int, ...]


class Composed(NamedTuple):
    """A tensor that the file has in another form: made by `compose` of its `parts`, names of tensors in the file."""

    parts: tuple[str, ...]
    part_shape: Callable[[VisionConfig], Shape]
    shape: Callable[[VisionConfig], Shape]
    compose: Callable[..., NDArray[np.float32]]  # (VisionConfig, each part)


def _with_channels_last(vision: VisionConfig, kernel: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.ascontiguousarray(kernel.transpose(0, 2, 3, 1)).reshape(vision.hidden_size, -1)


PATCH_KERNEL = Composed(
    parts=("v.patch_embd.weight",),
    part_shape=lambda vision: (vision.hidden_size, 3, vision.patch_size, vision.patch_size),
    shape=lambda vision: (vision.hidden_size, 3 * vision.patch_size**2),
    compose=_with_channels_last,
)
"""The convolution of patches as a matrix for pixels whose channels are last."""


def with_encoder(config: ModelConfig, vision: VisionConfig, _mmproj: MmprojFile) -> ModelConfig:
    """A text model with an encoder."""
    return replace(config, vision=vision)


@dataclass(frozen=True, kw_only=True)
class MmprojReader:
    """`projector` is its name in models/mmproj_file.py; `join` gives a text model the encoder.

    `read` takes the keys below `clip.vision.`. `names` are those of tensors in the file, without suffix, to canonical
    ones, with LAYER in the place of a layer's number in both; in tensors of features (`v.deepstack.3.`) the canonical
    number is the layer's place in `feature_layers`. `composed` has canonical names.
    """

    projector: str
    read: Callable[[ConfigKeys, MmprojFile], VisionConfig]
    names: Mapping[str, str]
    composed: Mapping[str, Composed] = field(default_factory=dict)
    join: Callable[[ModelConfig, VisionConfig, MmprojFile], ModelConfig] = with_encoder

    def name_of(self, stored: str, vision: VisionConfig) -> str:
        """The canonical name of a tensor; its own name if the family has none of it."""
        plain = re.sub(r"\.(blk|deepstack)\.\d+\.", rf".\1.{LAYER}.", stored)
        match = re.fullmatch(r"([a-z0-9_.*]+?)(?:\.(weight|bias))?", plain)
        name = self.names.get(match[1]) if match else None
        if match is None or name is None:
            return stored
        if (layer := re.search(r"\.(blk|deepstack)\.(\d+)\.", stored)) is not None:
            number = int(layer[2])
            if layer[1] == "deepstack":
                if number not in vision.feature_layers:
                    return stored
                number = vision.feature_layers.index(number)
            name = name.replace(LAYER, str(number))
        return name + (".bias" if match[2] == "bias" else "")


def siglip_names(encoder: str) -> dict[str, str]:
    """Names of the tensors of `vision/siglip.py`, below the name of the encoder."""
    return {stored: f"{encoder}.{name}" for stored, name in _SIGLIP_NAMES.items()}
