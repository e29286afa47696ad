"""The shape of a model: what the runtime must know besides the weights."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The shape of one model.

    The rotary embedding is in the rotate-half order of Hugging Face for every source of weights, with
    `rope_theta` as its base and no scaling. `head_dim` x `num_heads` need not be `hidden_size`.
    """

    architecture: str
    vocab_size: int
    hidden_size: int
    ffn_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    rope_theta: float
    norm_eps: float
    max_context: int
    tie_embeddings: bool

    @property
    def num_weights(self) -> int:
        """How many numbers the model consists of."""
        return sum(math.prod(shape) for shape in self.tensor_shapes().values())

    def tensor_shapes(self) -> dict[str, tuple[int, ...]]:
        """Name and shape of every tensor, in the order of use; matrices are (outputs, inputs)."""
        query_size = self.num_heads * self.head_dim
        kv_size = self.num_kv_heads * self.head_dim
        shapes: dict[str, tuple[int, ...]] = {"embed_tokens": (self.vocab_size, self.hidden_size)}
        for layer in range(self.num_layers):
            shapes |= {
                f"layers.{layer}.input_layernorm": (self.hidden_size,),
                f"layers.{layer}.q_proj": (query_size, self.hidden_size),
                f"layers.{layer}.k_proj": (kv_size, self.hidden_size),
                f"layers.{layer}.v_proj": (kv_size, self.hidden_size),
                f"layers.{layer}.o_proj": (self.hidden_size, query_size),
                f"layers.{layer}.post_attention_layernorm": (self.hidden_size,),
                f"layers.{layer}.gate_proj": (self.ffn_size, self.hidden_size),
                f"layers.{layer}.up_proj": (self.ffn_size, self.hidden_size),
                f"layers.{layer}.down_proj": (self.hidden_size, self.ffn_size),
            }
        shapes["norm"] = (self.hidden_size,)
        if not self.tie_embeddings:
            shapes["lm_head"] = (self.vocab_size, self.hidden_size)
        return shapes
