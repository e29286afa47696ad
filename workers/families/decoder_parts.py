"""Parts of layers shared by several families."""

from __future__ import annotations

from typing import Any

from cactus_actors.workers.runtime.expert_graph import mixed_experts
from cactus_actors.workers.runtime.graph import Graph, Value
from cactus_actors.workers.spec.model_config import Layer, ModelConfig


def queries_keys_values(g: Graph, c: ModelConfig, h: Value, name: str) -> Value:
    """The projections of all heads side by side, (tokens, (heads + 2 kv_heads) * head_dim)."""
    return g.linear(
        h,
        [f"{name}.{part}_proj" for part in "qkv"],
        [c.query_size, c.kv_size, c.kv_size],
        bias=c.attention_bias,
    )


def normed_queries_keys_values(g: Graph, c: ModelConfig, h: Value, name: str, *, plus_one: bool = False) -> Value:
    """Attention with an RMS norm of each head of the queries and of the keys (Henry et al. 2020)."""
    qkv = queries_keys_values(g, c, h, name)
    g.norm_heads(qkv, 0, c.num_heads, f"{name}.q_norm", plus_one=plus_one)
    g.norm_heads(qkv, c.query_size, c.num_kv_heads, f"{name}.k_norm", plus_one=plus_one)
    return qkv


def attention(g: Graph, c: ModelConfig, qkv: Value, layer: Layer, name: str) -> Value:
    """Attention of all heads and its output projection, (tokens, hidden)."""
    attended = g.attention(  # (tokens, heads * head_dim)
        qkv, rope=layer.rope, window=layer.window, sees_whole_tiles=layer.sees_whole_tiles
    )
    return g.linear(attended, [f"{name}.o_proj"], [c.hidden_size], bias=c.output_bias)


def gate_and_up(g: Graph, c: ModelConfig, h: Value, name: str) -> Value:
    """Both projections of a gated network side by side, (tokens, 2 ffn)."""
    return g.linear(h, [f"{name}.gate_proj", f"{name}.up_proj"], [c.ffn_size] * 2, bias=c.ffn_bias)


def down(g: Graph, c: ModelConfig, activated: Value, name: str) -> Value:
    """The projection from a gated network back, (tokens, hidden)."""
    return g.linear(activated, [f"{name}.down_proj"], [c.hidden_size], bias=c.ffn_bias)


def gated_network(g: Graph, c: ModelConfig, h: Value, _layer: Layer, name: str) -> Value:
    """A SiLU-gated network, (tokens, hidden); `name` is that of the layer."""
    return down(g, c, g.silu_gate(gate_and_up(g, c, h, f"{name}.mlp")), f"{name}.mlp")


def experts(
    g: Graph, c: ModelConfig, h: Value, name: str, *, gate: str, up: str, down: str, router: str = "gate", **rest: Any
) -> Value:
    """A mixture of experts below `name`, whose projections have these names, (tokens, hidden).

    `rest` is passed to `mixed_experts`.
    """
    assert c.experts is not None, "the config describes them"
    names = [f"{name}.experts.{index}" for index in range(c.experts.num_experts)]
    bias = f"{name}.expert_bias" if c.experts.has_bias else None
    projections = [(f"{each}.{gate}", f"{each}.{up}", f"{each}.{down}") for each in names]
    return mixed_experts(g, h, f"{name}.{router}", projections, bias=bias, **rest)
