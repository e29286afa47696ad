"""The vision transformer of Qwen3-VL (Bai et al. 2025) and Qwen3.5: patches of any number turn by rows and columns."""

from __future__ import annotations

from cactus_actors.workers.runtime.encoder_parts import (
    activated,
    add_linear,
    full_attention,
    given,
    layer_norm,
    merged,
    patch_embedding,
    table,
)
from cactus_actors.workers.runtime.graph import Graph, Value
from cactus_actors.workers.spec.vision_config import VisionConfig

NAME = "visual"


def encode(g: Graph, c: VisionConfig) -> None:
    """The embeddings of merged patches, (patches / merged, hidden of the text), and as many features of each.

    The inputs of the graph are the pixels of the patches and their positions.
    """
    kernel_shape = (3, c.num_frames, c.patch_size, c.patch_size)
    patches, positions = given(g, 3 * c.num_frames * c.patch_size**2), given(g, c.hidden_size)
    table(g, f"{NAME}.pos_embed", c.positions_per_side**2, c.hidden_size)
    x = patch_embedding(g, patches, f"{NAME}.patch_embed.proj", kernel_shape, c.hidden_size)
    x = x + positions
    for index in range(c.num_layers):
        layer = f"{NAME}.blocks.{index}"
        h = layer_norm(g, x, f"{layer}.norm1", c.norm_eps)
        qkv = g.linear(h, [f"{layer}.attn.qkv"], [3 * c.hidden_size], bias=True)
        attended = full_attention(g, qkv, c.num_heads, c.head_dim, rotary=True)
        x = add_linear(g, x, attended, f"{layer}.attn.proj")

        h = layer_norm(g, x, f"{layer}.norm2", c.norm_eps)
        up = g.linear(h, [f"{layer}.mlp.linear_fc1"], [c.ffn_size], bias=True)
        x = add_linear(g, x, activated(g, up, c.activation), f"{layer}.mlp.linear_fc2")
        if index in c.feature_layers:
            name = f"{NAME}.deepstack_merger_list.{c.feature_layers.index(index)}"
            wide = merged(g, x, c.merged_patches)
            g.features.append(_projected(g, layer_norm(g, wide, f"{name}.norm", c.norm_eps), name))
    normed = layer_norm(g, x, f"{NAME}.merger.norm", c.norm_eps)
    g.hidden = _projected(g, merged(g, normed, c.merged_patches), f"{NAME}.merger")


def _projected(g: Graph, wide: Value, name: str) -> Value:
    """A network of two layers from merged patches to the text's hidden states."""
    h = activated(g, g.linear(wide, [f"{name}.linear_fc1"], [wide.width], bias=True), "gelu")
    return g.linear(h, [f"{name}.linear_fc2"], [g.config.hidden_size], bias=True)
