"""The head of Qwen3.5 that drafts further tokens (multi-token prediction, Gloeckle et al. 2024).

It is a layer of its own over pairs of a token and the model's hidden state of the position before it. Its outputs take
the place of hidden states for the drafts after the first one.
"""

from __future__ import annotations

from collections.abc import Callable

from cactus_actors.workers.families.family import DraftHeadFiles
from cactus_actors.workers.runtime import draft_graph, recurrence
from cactus_actors.workers.runtime.encoder_parts import given
from cactus_actors.workers.runtime.graph import Graph, Value
from cactus_actors.workers.spec.attention_heads import AttentionHeads
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.model_config import Layer, ModelConfig

NAME = "mtp"
LAYER = f"{NAME}.layers.0"

GGUF_NAMES = {
    "nextn.eh_proj": "fc",
    "nextn.enorm": "pre_fc_norm_embedding",
    "nextn.hnorm": "pre_fc_norm_hidden",
    "nextn.shared_head_norm": "norm",
}
"""Names in GGUF files, without `blk.N.` and suffix -> names below `mtp.`; those of the layer are the model's."""

FeedForward = Callable[[Graph, ModelConfig, Value, Layer, str], Value]


def num_layers(keys: ConfigKeys) -> int:
    """The number of layers for drafts, from config.json or GGUF metadata; more than one is refused."""
    if keys.get("text_config") is not None:
        keys = keys.below("text_config")
    keys.require_one_of("mtp_use_dedicated_embeddings", False, None)
    keys.require_one_of("mtp_num_hidden_layers", 0, 1, None)
    keys.require_one_of("nextn_predict_layers", 0, 1, None)
    return int(keys.get("mtp_num_hidden_layers") or keys.get("nextn_predict_layers") or 0)


def output_with_drafter(g: Graph, c: ModelConfig, x: Value, head: str, feed_forward: FeedForward) -> None:
    """The output of a model that stores the keys and values of its head for every token, and the head's graph.

    Those of position p belong to token p and hidden state p - 1. There are none for position 0, which the head does
    not attend to.
    """
    hidden = g.rms_norm(x, "norm", plus_one=True)  # (tokens, hidden)
    _, h = _pair_of(g, c, recurrence.shifted(g, hidden))
    _store(g, c, h)
    _draft(draft_graph.drafter_of(g, c), c, head, feed_forward)
    g.output_of_normed(hidden, head)


def _draft(g: Graph, c: ModelConfig, head: str, feed_forward: FeedForward) -> None:
    """A gated attention and a feed-forward network; the output is the model's."""
    layer, kv_layer = c.draft_layer, len(g.stored_heads) - 1
    assert layer is not None, "the config describes it"
    x, h = _pair_of(g, c, given(g, c.hidden_size))
    queries = draft_graph.gated_queries(g, h, f"{LAYER}.self_attn.q_proj")
    g.norm_heads(queries, 0, c.num_heads, f"{LAYER}.self_attn.q_norm", plus_one=True)
    _store(g, c, h, kv_layer)
    attended = g.attention(queries, rope=layer.rope, kv_layer=kv_layer, first=1)  # (tokens, heads * head_dim)
    g.sigmoid_gate(attended, queries, c.query_size)
    x = x + g.linear(attended, [f"{LAYER}.self_attn.o_proj"], [c.hidden_size])

    h = g.rms_norm(x, f"{LAYER}.post_attention_layernorm", plus_one=True)
    x = x + feed_forward(g, c, h, layer, LAYER)
    g.output(x, f"{NAME}.norm", head, plus_one=True)


def _pair_of(g: Graph, c: ModelConfig, hidden: Value) -> tuple[Value, Value]:
    """A token and the hidden state before it as one row, and that row normed."""
    embedding = g.rms_norm(g.embed("embed_tokens"), f"{NAME}.pre_fc_norm_embedding", plus_one=True)
    before = g.rms_norm(hidden, f"{NAME}.pre_fc_norm_hidden", plus_one=True)
    x = g.linear(draft_graph.joined(g, embedding, before), [f"{NAME}.fc"], [c.hidden_size])
    return x, g.rms_norm(x, f"{LAYER}.input_layernorm", plus_one=True)


def _store(g: Graph, c: ModelConfig, h: Value, kv_layer: int | None = None) -> None:
    """Store keys and values, in a new layer of the cache or in this one."""
    kv = g.linear(h, [f"{LAYER}.self_attn.{part}_proj" for part in "kv"], [c.kv_size] * 2)
    heads = AttentionHeads(c.num_kv_heads, c.num_kv_heads, c.head_dim)
    g.norm_heads(kv, 0, c.num_kv_heads, f"{LAYER}.self_attn.k_norm", plus_one=True, heads=heads)
    draft_graph.store_keys_values(g, kv, layer=kv_layer)


HEAD = DraftHeadFiles(prefix=f"{NAME}.", own_names=frozenset(GGUF_NAMES.values()), num_layers=num_layers)
