"""The vision transformer of Gemma 4 (Gemma Team 2026): patches of pictures in nearly their own shapes.

Positions are the sums of an entry for the column and one for the row; half of the lanes of queries and keys turn by
columns, half by rows. Means of squares of patches are the embeddings.
"""

from __future__ import annotations

from collections.abc import Sequence

from cactus_actors.workers.runtime.encoder_parts import (
    attention_by_axes,
    clamped,
    given,
    pooled,
    standardised,
    table,
)
from cactus_actors.workers.runtime.graph import Graph, Value
from cactus_actors.workers.spec.attention_heads import AttentionHeads
from cactus_actors.workers.spec.vision_config import VisionConfig

NAME = "vision_tower"


def encode(g: Graph, c: VisionConfig) -> None:
    """The embeddings of squares of patches, (patches / merged, hidden of the text).

    The inputs of the graph are the pixels of the patches and their positions.
    """
    heads = AttentionHeads(c.num_heads, c.num_kv_heads or c.num_heads, c.head_dim)
    patches, positions = given(g, 3 * c.patch_size**2), given(g, c.hidden_size)
    table(g, f"{NAME}.patch_embedder.position_embedding_table", 2, c.positions_per_side, c.hidden_size)
    x = g.linear(patches, [f"{NAME}.patch_embedder.input_proj"], [c.hidden_size], is_fine=True) + positions
    for index in range(c.num_layers):
        name = f"{NAME}.encoder.layers.{index}"
        h = g.rms_norm(x, f"{name}.input_layernorm")
        h = _attention(g, c, h, heads, f"{name}.self_attn")
        x = x + g.rms_norm(h, f"{name}.post_attention_layernorm")

        h = g.rms_norm(x, f"{name}.pre_feedforward_layernorm")
        gate_up = _linear(g, c, h, [f"{name}.mlp.gate_proj", f"{name}.mlp.up_proj"], [c.ffn_size] * 2)
        h = _linear(g, c, g.gelu_gate(gate_up), [f"{name}.mlp.down_proj"], [c.hidden_size])
        x = x + g.rms_norm(h, f"{name}.post_feedforward_layernorm")

    means = g.scaled(pooled(g, x, c.merged_patches), c.hidden_size**0.5)
    if c.standardises:
        standardised(g, means, f"{NAME}.std_bias", f"{NAME}.std_scale")
    g.norm_heads(means, 0, 1, None, heads=AttentionHeads(1, 1, c.hidden_size))
    g.hidden = g.linear(means, ["embed_vision.embedding_projection"], [g.config.hidden_size])


def _attention(g: Graph, c: VisionConfig, h: Value, heads: AttentionHeads, name: str) -> Value:
    """Attention of normed queries to normed keys and values of all patches, (patches, hidden)."""
    projections = [f"{name}.{part}_proj" for part in "qkv"]
    qkv = _linear(g, c, h, projections, [heads.query_size, heads.kv_size, heads.kv_size])
    g.norm_heads(qkv, 0, heads.num_heads, f"{name}.q_norm", heads=heads)
    g.norm_heads(qkv, heads.query_size, heads.num_kv_heads, f"{name}.k_norm", heads=heads)
    g.norm_heads(qkv, heads.query_size + heads.kv_size, heads.num_kv_heads, None, heads=heads)
    return _linear(g, c, attention_by_axes(g, qkv, heads), [f"{name}.o_proj"], [c.hidden_size])


def _linear(g: Graph, c: VisionConfig, x: Value, names: Sequence[str], widths: Sequence[int]) -> Value:
    """Products side by side; with `clips` inputs and outputs of each are within bounds of its own."""
    if not c.clips:
        return g.linear(x, [f"{name}.linear" for name in names], widths)
    wide = Value(g, sum(widths), x.rows)
    for index, (name, width) in enumerate(zip(names, widths, strict=True)):
        inputs = clamped(g, x, Value(g, x.width, x.rows), f"{name}.input")
        product = g.linear(inputs, [f"{name}.linear"], [width])
        clamped(g, product, wide, f"{name}.output", column=sum(widths[:index]))
    return wide
