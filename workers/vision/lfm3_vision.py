"""The encoder of LFM3-VL (Liquid AI 2026): gated convolutions over the grid of patches, and attention between them."""

from __future__ import annotations

from cactus_actors.workers.runtime.encoder_parts import (
    activated,
    full_attention,
    given,
    grid_conv,
    layer_norm,
    merged,
    patch_embedding,
)
from cactus_actors.workers.runtime.graph import Graph, Value
from cactus_actors.workers.spec.attention_heads import AttentionHeads
from cactus_actors.workers.spec.vision_config import VisionConfig

NAME, PROJECTOR = "vision_tower", "multi_modal_projector"
PROJECTOR_EPS = 1e-6
"""The epsilon of the projector's LayerNorm, which is not in the config."""


def encode(g: Graph, c: VisionConfig) -> None:
    """The embeddings of merged patches, (patches / merged, hidden of the text); the input is the patches' pixels."""
    assert c.projector is not None, "the config describes it"
    num_pixels = 3 * c.num_frames * c.patch_size**2
    patches = given(g, num_pixels)
    x = patch_embedding(g, patches, f"{NAME}.patchifier", (num_pixels,), c.hidden_size, bias=False)
    x = g.rms_norm(x, f"{NAME}.embedding_norm")
    for index in range(c.num_layers):
        layer = f"{NAME}.layers.{index}"
        h = g.rms_norm(x, f"{layer}.operator_norm")
        if index in c.conv_layers:
            projected = g.linear(h, [f"{layer}.conv.in_proj"], [3 * c.hidden_size])  # B, C and x of each patch
            h = grid_conv(g, projected, f"{layer}.conv.spatial_conv", side=c.conv_side, merge_size=c.merge_size)
            x = x + g.linear(h, [f"{layer}.conv.out_proj"], [c.hidden_size])
        else:
            x = x + _attention(g, c, h, f"{layer}.self_attn")

        h = g.rms_norm(x, f"{layer}.ffn_norm")
        gate_up = g.linear(h, [f"{layer}.feed_forward.w1", f"{layer}.feed_forward.w3"], [c.ffn_size] * 2)
        x = x + g.linear(g.silu_gate(gate_up), [f"{layer}.feed_forward.w2"], [c.hidden_size])
    wide = merged(g, layer_norm(g, x, f"{PROJECTOR}.layer_norm", PROJECTOR_EPS), c.merged_patches)
    bias = c.projector.has_bias
    h = g.linear(wide, [f"{PROJECTOR}.linear_1"], [c.projector.hidden_size], bias=bias)
    h = activated(g, h, c.projector.activation)
    g.hidden = g.linear(h, [f"{PROJECTOR}.linear_2"], [g.config.hidden_size], bias=bias)


def _attention(g: Graph, c: VisionConfig, h: Value, name: str) -> Value:
    heads = AttentionHeads(c.num_heads, c.num_kv_heads, c.head_dim)
    names = [f"{name}.{part}_proj" for part in "qkv"]
    qkv = g.linear(h, names, [heads.query_size, heads.kv_size, heads.kv_size])
    g.norm_heads(qkv, 0, heads.num_heads, f"{name}.q_layernorm", heads=heads)
    g.norm_heads(qkv, heads.query_size, heads.num_kv_heads, f"{name}.k_layernorm", heads=heads)
    attended = full_attention(g, qkv, c.num_heads, c.head_dim, num_kv_heads=c.num_kv_heads, rotary=True)
    return g.linear(attended, [f"{name}.out_proj"], [c.hidden_size])
