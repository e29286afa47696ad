"""Operations of encoders of pictures, for their graphs.

The tokens of an encoder's step are the patches of one tile, which all attend to each other. Patches that are merged
are adjacent: row by row within each square of them, and square after square.
"""

from __future__ import annotations

from cactus_actors.workers.runtime.graph import Graph, Value
from cactus_actors.workers.runtime.op_codes import OpCode, RowKind
from cactus_actors.workers.runtime.weight_refs import (
    BoundsRef,
    GridTapsRef,
    KernelRef,
    MatrixRef,
    TableRef,
    TransposedRef,
    VectorRef,
    biases_of,
)
from cactus_actors.workers.spec.attention_heads import AttentionHeads
from cactus_actors.workers.spec.vision_config import Activation


def given(g: Graph, width: int) -> Value:
    """Rows that the caller of a step writes before it."""
    value = Value(g, width)
    g.inputs.append(value)
    return value


def table(g: Graph, name: str, length: int, *row_shape: int) -> None:
    """A table, (length, *row_shape), from which given rows are computed outside of the step."""
    g.tables.append(TableRef((name,), (length,), stored_row=row_shape))


def patch_embedding(
    g: Graph, patches: Value, name: str, kernel_shape: tuple[int, ...], width: int, *, bias: bool = True
) -> Value:
    """A convolution whose stride is its size, over pixels in the order of its kernel."""
    kernel = KernelRef((name,), (width,), patches.width, is_head=True, kernel_shape=kernel_shape)
    product = g._product(patches, kernel)
    return biased(g, product, name) if bias else product


def biased(g: Graph, x: Value, *names: str) -> Value:
    """x + the biases of these names, side by side in equal widths, in the place of x."""
    g._note(OpCode.BIAS, target=x, vector=biases_of(names, x.width // len(names)))
    return x


def add_linear(g: Graph, x: Value, h: Value, name: str) -> Value:
    """x + h @ W.T + bias in the place of x, which must not be used again."""
    product = g._product(h, MatrixRef((name,), (x.width,), h.width, is_head=False))
    return biased(g, g.add(x, product), name)


def transposed_linear(g: Graph, x: Value, name: str, width: int) -> Value:
    """x @ W for a weight (inputs, outputs) of this name, without its suffix."""
    return g._product(x, TransposedRef((name,), (width,), x.width, is_head=False))


def layer_norm(g: Graph, x: Value, name: str, epsilon: float) -> Value:
    """(x - mean) / sqrt(variance + epsilon) * gain + bias (Ba, Kiros, Hinton 2016)."""
    normed = Value(g, x.width, x.rows)
    g._note(
        OpCode.LAYER_NORM,
        source=x,
        target=normed,
        vector=VectorRef((name,), (x.width,)),
        bias=VectorRef((f"{name}.bias",), (x.width,)),
        epsilon=epsilon,
    )
    return normed


def activated(g: Graph, x: Value, activation: Activation) -> Value:
    """An activation without a gate, in the place of x."""
    g._note(OpCode.ACTIVATE, source=x, target=x, flag=activation == "gelu")
    return x


def grid_conv(g: Graph, projected: Value, name: str, *, side: int, merge_size: int) -> Value:
    """C * conv(B * x) over the grid of the patches, from B, C and x side by side, (patches, width) (LFM3-VL).

    Each channel has `side` x `side` taps, around the patch itself.
    """
    width = projected.width // 3
    mixed = Value(g, width)
    taps = GridTapsRef((name,), (width,), num_taps=side**2, side=side)
    fields = {"count": width, "column": side, "window": merge_size, "vector": taps}
    g._note(OpCode.GRID_CONV, source=projected, target=mixed, **fields)
    return mixed


def clamped(g: Graph, x: Value, target: Value, name: str, *, column: int = 0) -> Value:
    """x within the bounds `name`_min and `name`_max, in the columns of `target` from `column` on."""
    bounds = BoundsRef((f"{name}_min", f"{name}_max"), (1, 1))
    g._note(OpCode.CLAMP, source=x, target=target, vector=bounds, column=column)
    return target


def standardised(g: Graph, x: Value, shift: str, factors: str) -> Value:
    """(x - shift) * factors in the place of x, by tensors of these names."""
    g._note(
        OpCode.STANDARDISE,
        source=x,
        target=x,
        vector=VectorRef((shift,), (x.width,)),
        bias=VectorRef((factors,), (x.width,)),
    )
    return x


def attention_by_axes(g: Graph, qkv: Value, heads: AttentionHeads) -> Value:
    """Attention of each row to all rows, (rows, heads * head_dim), with scores that are not scaled.

    The first half of the lanes of queries and keys turns by the columns of the patches, the other one by their rows.
    """
    for axis in range(2):
        g._note(OpCode.ROTATE, target=qkv, rope=axis, column=axis * heads.head_dim // 2, attention_heads=heads)
    return _attended(g, qkv, heads, 1.0)


def full_attention(
    g: Graph, qkv: Value, num_heads: int, head_dim: int, *, num_kv_heads: int = 0, rotary: bool = False
) -> Value:
    """Attention of each row to all rows, (rows, heads * head_dim), from queries, keys and values side by side.

    All layers use the same layer of the cache, one after the other. By default there are as many key-value heads as
    heads. `rotary`: with a rotary embedding of the patches.
    """
    heads = AttentionHeads(num_heads, num_kv_heads or num_heads, head_dim)
    if rotary:
        g._note(OpCode.ROTATE, target=qkv, attention_heads=heads)
    return _attended(g, qkv, heads, head_dim**-0.5)


def _attended(g: Graph, qkv: Value, heads: AttentionHeads, scale: float) -> Value:
    if not g.stored_heads:
        g.stored_heads.append((heads.num_kv_heads, heads.head_dim))
    g._note(OpCode.STORE, source=qkv, layer=0, column=heads.query_size, attention_heads=heads)
    attended = Value(g, heads.query_size)
    g._note(OpCode.ATTEND, source=qkv, target=attended, layer=0, scale=scale, flag=True, attention_heads=heads)
    return attended


def merged(g: Graph, x: Value, count: int) -> Value:
    """`count` adjacent rows side by side: pixel shuffle in space to depth, (rows / count, count * width)."""
    wide = Value(g, x.width * count, RowKind.LOGITS)
    g._note(OpCode.MERGE, source=x, target=wide, count=count)
    return wide


def pooled(g: Graph, x: Value, count: int) -> Value:
    """The means of `count` adjacent rows, (rows / count, width)."""
    means = Value(g, x.width, RowKind.LOGITS)
    g._note(OpCode.MERGE, source=x, target=means, count=count, flag=True)
    return means
