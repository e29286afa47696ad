"""The tensors of encoders of pictures under the names and in the orders of llama.cpp's files (mmproj)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.goldens.to_gguf import Tensors

Stored = Iterator[tuple[str, NDArray[np.float32]]]
"""Names and values as stored in the file."""

PARTS = {
    "embeddings.patch_embedding": "v.patch_embd",
    "embeddings.position_embedding": "v.position_embd",
    "post_layernorm": "v.post_ln",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.out_proj": "attn_out",
    "layer_norm1": "ln1",
    "layer_norm2": "ln2",
    "mlp.fc1": "ffn_up",
    "mlp.fc2": "ffn_down",
    "connector.modality_projection.proj": "mm.model.fc",
    "multi_modal_projector.layer_norm": "mm.input_norm",
    "multi_modal_projector.linear_1": "mm.1",
    "multi_modal_projector.linear_2": "mm.2",
    "multi_modal_projector.mm_input_projection": "mm.input_projection",
    "multi_modal_projector.mm_soft_emb_norm": "mm.soft_emb_norm",
}


QWEN_PARTS = {
    "patch_embed.proj": "v.patch_embd",
    "pos_embed": "v.position_embd",
    "merger.norm": "v.post_ln",
    "merger.linear_fc1": "mm.0",
    "merger.linear_fc2": "mm.2",
    "norm1": "ln1",
    "norm2": "ln2",
    "attn.qkv": "attn_qkv",
    "attn.proj": "attn_out",
    "mlp.linear_fc1": "ffn_up",
    "mlp.linear_fc2": "ffn_down",
    "norm": "norm",
    "linear_fc1": "fc1",
    "linear_fc2": "fc2",
}


def qwen_tensors(tensors: Tensors, vision: dict[str, Any]) -> Stored:
    """The encoder of Qwen3-VL and Qwen3.5."""
    for name, values in tensors.items():
        if not name.startswith("model.visual."):
            continue
        part, _, kind = name.removeprefix("model.visual.").rpartition(".")
        listed = re.fullmatch(r"(blocks|deepstack_merger_list)\.(\d+)\.(.+)", part)
        if name.endswith("patch_embed.proj.weight"):
            yield "v.patch_embd.weight", values[:, :, 0]
            yield "v.patch_embd.weight.1", values[:, :, 1]
        elif listed is None:
            yield f"{QWEN_PARTS[part]}.{kind}", values
        elif listed[1] == "blocks":
            yield f"v.blk.{listed[2]}.{QWEN_PARTS[listed[3]]}.{kind}", values
        else:
            layer = vision["deepstack_visual_indexes"][int(listed[2])]
            yield f"v.deepstack.{layer}.{QWEN_PARTS[listed[3]]}.{kind}", values


def siglip_tensors(tensors: Tensors, patch_size: int, parts: Mapping[str, str]) -> Stored:
    """The encoder of the other models."""
    for name, values in tensors.items():
        plain = name.replace("mm_input_projection_weight", "mm_input_projection.weight")
        for wrapper in ("model.", "vision_model.", "vision_tower.", "vision_model."):
            plain = plain.removeprefix(wrapper)
        part, _, kind = plain.rpartition(".")
        layer = re.fullmatch(r"encoder\.layers\.(\d+)\.(.+)", part)
        stored = parts.get(layer[2] if layer else part)
        if stored is None:
            continue
        if stored == "v.patch_embd" and kind == "weight" and values.ndim == 2:  # channels last
            values = with_channels_first(values, patch_size)
        if stored == "mm.soft_emb_norm":
            values = values + np.float32(1.0)
        yield f"{f'v.blk.{layer[1]}.' if layer else ''}{stored}.{kind}", values


GEMMA4_PARTS = {
    "patch_embedder.input_proj": "v.patch_embd",
    "patch_embedder.position_embedding_table": "v.position_embd",
    "std_bias": "v.std_bias",
    "std_scale": "v.std_scale",
    "input_layernorm": "ln1",
    "post_attention_layernorm": "attn_post_norm",
    "pre_feedforward_layernorm": "ln2",
    "post_feedforward_layernorm": "ffn_post_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_out",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def gemma4_tensors(tensors: Tensors, patch_size: int) -> Stored:
    """The encoder of Gemma 4."""
    for name, values in tensors.items():
        if name == "model.embed_vision.embedding_projection.weight":
            yield "mm.input_projection.weight", values
        if not name.startswith("model.vision_tower."):
            continue
        plain = name.removeprefix("model.vision_tower.").replace(".linear.weight", ".weight")
        match = re.fullmatch(r"(?:encoder\.layers\.(\d+)\.)?(.+?)((?:\.(?:weight|(?:in|out)put_(?:min|max)))?)", plain)
        assert match is not None, "all names end so"
        layer, part, kind = match.groups()
        stored = GEMMA4_PARTS[part]
        if stored == "v.patch_embd":
            values = with_channels_first(values, patch_size)
        if stored == "v.position_embd":
            kind = ".weight"
        yield f"{'' if layer is None else f'v.blk.{layer}.'}{stored}{kind}", values.reshape(values.shape or 1)


def with_channels_first(values: NDArray[np.float32], patch_size: int) -> NDArray[np.float32]:
    """The convolution of patches from a matrix for pixels whose channels are last."""
    return values.reshape(len(values), patch_size, patch_size, 3).transpose(0, 3, 1, 2)
