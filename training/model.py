"""The Llama architecture in PyTorch, for training only: the service never imports it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

MAX_WRITTEN_OUT_TOKENS = 512


@dataclass(frozen=True, slots=True)
class Shape:
    """The dimensions of the network, by the names of Hugging Face's LlamaConfig."""

    vocab_size: int = 4096
    hidden_size: int = 256
    num_hidden_layers: int = 8
    num_attention_heads: int = 4
    num_key_value_heads: int = 2
    head_dim: int = 64
    intermediate_size: int = 704
    rope_theta: float = 500_000.0
    rms_norm_eps: float = 1e-5
    max_position_embeddings: int = 1024

    @classmethod
    def of(cls, state: Mapping[str, Tensor]) -> Shape:
        """The shape of a network with these tensors; all but the numbers of tokens and layers are as here."""
        layers = {int(name.split(".")[1]) for name in state if name.startswith("layers.")}
        return cls(vocab_size=state["embed_tokens.weight"].shape[0], num_hidden_layers=len(layers))


def rope_tables(shape: Shape, positions: Tensor) -> tuple[Tensor, Tensor]:
    """Return the cosines and sines of the rotary embedding, each (positions, head_dim), halves repeated."""
    pairs = torch.arange(0, shape.head_dim, 2, dtype=torch.float32) / shape.head_dim
    angles = positions.float()[:, None] * shape.rope_theta ** -pairs[None, :]
    angles = torch.cat((angles, angles), dim=-1)
    return angles.cos(), angles.sin()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate pairs (i, i + head_dim / 2) of each head; x is (rows, heads, tokens, head_dim)."""
    low, high = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-high, low), dim=-1) * sin


class Scores(torch.autograd.Function):
    """Queries (..., queries, size) times keys (..., keys, size): (..., queries, keys).

    PyTorch's own derivative gives the keys' gradient transposed. Loading it takes longer, and with AVX-512 PyTorch 2.13
    compiles loads of transposed bfloat16 tensors to wrong values.
    """

    @staticmethod
    def forward(ctx: Any, queries: Tensor, keys: Tensor) -> Tensor:
        ctx.save_for_backward(queries, keys)
        return queries @ keys.mT

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        queries, keys = ctx.saved_tensors
        return gradient @ keys, gradient.mT @ queries


def attend(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """Softmax attention, in the type of the values; mask is added to the scores."""
    queries, keys = queries.to(values.dtype), keys.to(values.dtype)
    if queries.shape[2] > MAX_WRITTEN_OUT_TOKENS:
        return functional.scaled_dot_product_attention(queries, keys, values, mask.to(values.dtype))
    # Written out, the compiler fuses it: for short rows its backward pass takes a third of the time.
    scores = cast("Tensor", Scores.apply(queries * queries.shape[-1] ** -0.5, keys))
    return (scores.float() + mask).softmax(dim=-1).to(values.dtype) @ values


class RMSNorm(nn.Module):
    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        wide = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.eps)
        return (wide * self.weight).to(x.dtype)


class Attention(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        width = shape.num_attention_heads * shape.head_dim
        kv_width = shape.num_key_value_heads * shape.head_dim
        self.q_proj = nn.Linear(shape.hidden_size, width, bias=False)
        self.k_proj = nn.Linear(shape.hidden_size, kv_width, bias=False)
        self.v_proj = nn.Linear(shape.hidden_size, kv_width, bias=False)
        self.o_proj = nn.Linear(width, shape.hidden_size, bias=False)

    def forward(
        self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor, past: tuple[Tensor, Tensor] | None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        rows, tokens, _ = x.shape

        def heads(projected: Tensor) -> Tensor:  # (rows, heads, tokens, head_dim)
            return projected.view(rows, tokens, -1, self.shape.head_dim).transpose(1, 2)

        cos, sin = cos.to(x.dtype), sin.to(x.dtype)
        queries = rotate(heads(self.q_proj(x)), cos, sin)
        keys = rotate(heads(self.k_proj(x)), cos, sin)
        values = heads(self.v_proj(x))
        if past is not None:
            keys = torch.cat((past[0], keys), dim=2)
            values = torch.cat((past[1], values), dim=2)
        repeats = self.shape.num_attention_heads // self.shape.num_key_value_heads
        keys_of_head = keys.repeat_interleave(repeats, dim=1)
        values_of_head = values.repeat_interleave(repeats, dim=1)
        mixed = attend(queries, keys_of_head, values_of_head, mask)
        return self.o_proj(mixed.transpose(1, 2).reshape(rows, tokens, -1)), (keys, values)


class MLP(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(shape.hidden_size, shape.intermediate_size, bias=False)
        self.up_proj = nn.Linear(shape.hidden_size, shape.intermediate_size, bias=False)
        self.down_proj = nn.Linear(shape.intermediate_size, shape.hidden_size, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.input_layernorm = RMSNorm(shape.hidden_size, shape.rms_norm_eps)
        self.self_attn = Attention(shape)
        self.post_attention_layernorm = RMSNorm(shape.hidden_size, shape.rms_norm_eps)
        self.mlp = MLP(shape)

    def forward(
        self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor, past: tuple[Tensor, Tensor] | None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        mixed, present = self.self_attn(self.input_layernorm(x), cos, sin, mask, past)
        x = x + mixed
        return x + self.mlp(self.post_attention_layernorm(x)), present


class Decoder(nn.Module):
    """The names of its parameters, with `model.` before them, are those of LlamaForCausalLM."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.embed_tokens = nn.Embedding(shape.vocab_size, shape.hidden_size)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.num_hidden_layers))
        self.norm = RMSNorm(shape.hidden_size, shape.rms_norm_eps)

    def forward(
        self,
        tokens: Tensor,
        cos: Tensor,
        sin: Tensor,
        mask: Tensor,
        past: list[tuple[Tensor, Tensor]] | None = None,
    ) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
        """Return normalised hidden states (rows, tokens, hidden) and each layer's keys and values.

        mask is (rows, 1, tokens, past + tokens), added to the scores: 0 where a token may attend, else low.
        """
        return self.continued(self.embed_tokens(tokens), cos, sin, mask, past)

    def continued(
        self,
        x: Tensor,
        cos: Tensor,
        sin: Tensor,
        mask: Tensor,
        past: list[tuple[Tensor, Tensor]] | None = None,
    ) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
        """As `forward`, from embeddings (rows, tokens, hidden)."""
        presents = []
        for index, layer in enumerate(self.layers):
            x, present = layer(x, cos, sin, mask, None if past is None else past[index])
            presents.append(present)
        return self.norm(x), presents
