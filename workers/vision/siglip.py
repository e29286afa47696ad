"""The vision transformers of SigLIP (Zhai et al. 2023) and SigLIP 2 (Tschannen et al. 2025).

Patches all attend to each other. The second one takes patches of pictures in their own shapes.
"""

from __future__ import annotations

from cactus_actors.workers.runtime.encoder_parts import (
    activated,
    add_linear,
    full_attention,
    given,
    layer_norm,
    patch_embedding,
    table,
)
from cactus_actors.workers.runtime.graph import Graph, Value
from cactus_actors.workers.spec.vision_config import VisionConfig


def encode(g: Graph, c: VisionConfig, name: str) -> Value:
    """The normed states of all patches, (patches, hidden); `name` is that of the encoder's tensors.

    The inputs of the graph are the pixels of the patches and their positions.
    """
    num_pixels = 3 * c.patch_size**2
    kernel_shape = (num_pixels,) if c.has_channels_last else (3, c.patch_size, c.patch_size)
    patches, positions = given(g, num_pixels), given(g, c.hidden_size)
    table(g, f"{name}.embeddings.position_embedding", c.positions_per_side**2, c.hidden_size)
    x = patch_embedding(g, patches, f"{name}.embeddings.patch_embedding", kernel_shape, c.hidden_size)
    x = x + positions
    for index in range(c.num_layers):
        layer = f"{name}.encoder.layers.{index}"
        h = layer_norm(g, x, f"{layer}.layer_norm1", c.norm_eps)
        projections = [f"{layer}.self_attn.{part}_proj" for part in "qkv"]
        qkv = g.linear(h, projections, [c.hidden_size] * 3, bias=True)  # (patches, 3 * hidden)
        attended = full_attention(g, qkv, c.num_heads, c.head_dim)
        x = add_linear(g, x, attended, f"{layer}.self_attn.out_proj")

        h = layer_norm(g, x, f"{layer}.layer_norm2", c.norm_eps)
        up = g.linear(h, [f"{layer}.mlp.fc1"], [c.ffn_size], bias=True)
        x = add_linear(g, x, activated(g, up, c.activation), f"{layer}.mlp.fc2")
    return layer_norm(g, x, f"{name}.post_layernorm", c.norm_eps)
