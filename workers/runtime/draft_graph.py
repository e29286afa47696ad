"""Operations of heads that draft tokens, for their graphs.

The graph of such a head (`Graph.drafter`) shares the cache of the model: the model stores the keys and values of the
head's layer for every token, and the head reads them.
"""

from __future__ import annotations

from cactus_actors.workers.runtime.graph import Graph, Value
from cactus_actors.workers.runtime.op_codes import OpCode
from cactus_actors.workers.runtime.weight_refs import GatedQueriesRef
from cactus_actors.workers.spec.attention_heads import AttentionHeads
from cactus_actors.workers.spec.model_config import ModelConfig


def drafter_of(model: Graph, config: ModelConfig) -> Graph:
    """An empty graph with the cached layers of the model's graph, whose last one is that of the head."""
    drafter = model.drafter = Graph(config)
    drafter.stored_heads = list(model.stored_heads)
    return drafter


def joined(g: Graph, left: Value, right: Value) -> Value:
    """Both side by side."""
    wide = Value(g, left.width + right.width, left.rows)
    g._note(OpCode.JOIN, source=left, target=wide)
    g._note(OpCode.JOIN, source=right, target=wide, column=left.width)
    return wide


def gated_queries(g: Graph, h: Value, name: str) -> Value:
    """The queries of all heads, and their gates after them, from one weight."""
    c = g.config
    return g._product(h, GatedQueriesRef((name,), (2 * c.query_size,), h.width, False, c.num_heads))


def store_keys_values(g: Graph, kv: Value, *, rope: int = 0, layer: int | None = None) -> None:
    """Rotate the keys of a token and store its keys and values, which stand side by side, in the cache.

    They are those of a new layer, or of the layer with this index.
    """
    num_heads, head_dim = g.config.num_kv_heads, g.config.head_dim
    heads = AttentionHeads(num_heads, num_heads, head_dim)
    g._note(OpCode.ROTATE, target=kv, rope=rope, flag=True, attention_heads=heads)
    if layer is None:
        layer = len(g.stored_heads)
        g.stored_heads.append((num_heads, head_dim))
    g._note(OpCode.STORE, source=kv, layer=layer, attention_heads=heads)
