"""The shape of a model, from which its graph is built."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from cactus_actors.workers.spec.attention_heads import AttentionHeads
from cactus_actors.workers.spec.rotary import Rope
from cactus_actors.workers.spec.vision_config import VisionConfig


@dataclass(frozen=True, kw_only=True)
class Layer:
    """The properties of one layer that differ between layers."""

    kind: Literal["attention", "conv", "delta", "mamba"] = "attention"
    window: int = 0  # positions that a token attends to, its own included; 0 for all
    rope: int | None = 0  # index into `ModelConfig.ropes`, None for no rotation
    has_experts: bool = False
    heads: AttentionHeads | None = None  # where they differ from those of `ModelConfig`
    ffn_size: int = 0  # where it differs from that of `ModelConfig`
    kv_layer: int | None = None  # index of another layer, whose keys and values this one attends to
    shares_key_projection: bool = False  # if values are projected as keys are, and normed in another way
    sees_whole_tiles: bool = False  # if tokens of a picture's tile attend to the later ones of the tile too
    gate_cutoff: float | None = None  # standard deviations above the mean, below which gates of the network are zero


@dataclass(frozen=True)
class ClampedGate:
    """Gates g are cut off above, ups u at both ends: (u + 1) * g * sigmoid(alpha * g) (gpt-oss, OpenAI 2025)."""

    alpha: float
    limit: float


@dataclass(frozen=True, kw_only=True)
class Experts:
    """A mixture of experts instead of a feed-forward network."""

    num_experts: int
    num_chosen: int
    ffn_size: int
    normalised: bool  # if the weights of the chosen experts add up to one
    has_sigmoid_scores: bool = False  # in the place of a softmax
    has_bias: bool = False  # added to the sigmoids by which experts are chosen, not to their weights
    scale: float = 1.0  # of the weights, after sigmoids
    shared_ffn_size: int = 0  # of a network that every token goes through as well
    gate: ClampedGate | None = None  # with biases of the router and of the experts; SiLU without biases if None
    is_mxfp4: bool = False  # if the files have their matrices in MXFP4, which fixes how they are packed


@dataclass(frozen=True)
class PerLayerInputs:
    """Every layer adds something that depends on the token alone, of `size` numbers before its projection."""

    size: int
    vocab_size: int  # rows of the embedding


@dataclass(frozen=True)
class ResidualStreams:
    """Several streams, one of which goes through each layer; the others are predicted (AltUp, Baykal et al. 2023)."""

    num_streams: int
    active: int  # index of the one that goes through the layers
    rank: int  # of the projections beside the attention (LAuReL, Menghani et al. 2024)
    has_output_gains: bool


@dataclass(frozen=True)
class QueryGrowth:
    """Queries at position p are scaled by 1 + factor * ln(1 + p // period) (Llama 4, 2025)."""

    factor: float
    period: int


@dataclass(frozen=True, kw_only=True)
class RecurrentHeads:
    """The heads of recurrent layers; each key head is shared by as many value heads.

    Keys and queries of Mamba-2 are its B and C, their heads the groups.
    """

    num_key_heads: int
    key_dim: int
    num_value_heads: int
    value_dim: int

    @property
    def value_size(self) -> int:
        """Width of the values of all heads."""
        return self.num_value_heads * self.value_dim

    @property
    def mixed_size(self) -> int:
        """Width of the queries, keys and values of all heads."""
        return 2 * self.num_key_heads * self.key_dim + self.value_size


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The shape of one model; `head_dim` x `num_heads` need not be `hidden_size`.

    A soft cap of 0 means none. `ropes` are the rotary embeddings that the layers choose from.
    """

    family: str
    vocab_size: int
    hidden_size: int
    ffn_size: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    norm_eps: float
    max_context: int
    tie_embeddings: bool
    ropes: tuple[Rope, ...]
    layers: tuple[Layer, ...]
    attention_bias: bool = False  # of the query, key and value projections
    output_bias: bool = False  # of the attention's output projection
    ffn_bias: bool = False
    attention_scale: float | None = None  # 1 / sqrt(head_dim) if not given
    attention_softcap: float = 0.0
    logit_softcap: float = 0.0
    query_growth: QueryGrowth | None = None
    embedding_scale: float = 1.0
    residual_scale: float = 1.0  # of the output of each part of a layer
    logit_scale: float = 1.0
    has_norms_after: bool = False  # norms on the output of each part of a layer, if the family leaves it open
    has_head_gates: bool = False  # gates on the heads of attention, if the family leaves it open
    num_taps: int = 0  # of the short convolutions
    conv_bias: bool = False  # of the convolutions of recurrent layers
    experts: Experts | None = None
    recurrent_heads: RecurrentHeads | None = None
    per_layer_inputs: PerLayerInputs | None = None
    streams: ResidualStreams | None = None
    vision: VisionConfig | None = None  # of the encoder of pictures
    draft_layer: Layer | None = None  # of the head that drafts tokens, if it is loaded

    def served_for(self, max_context: int) -> ModelConfig:
        """A copy of this model for sequences of at most `max_context` tokens."""
        ropes = tuple(rope.served_for(max_context) for rope in self.ropes)
        return replace(self, max_context=max_context, ropes=ropes)

    def within_original_context(self) -> ModelConfig:
        """A model with LongRoPE, served for the context of its short factors; other models as they are.

        A sequence that outgrew that context would need all its keys again, with the long factors.
        """
        contexts = [rope.original_context for rope in self.ropes if rope.original_context is not None]
        return self.served_for(min(self.max_context, *contexts)) if contexts else self

    @property
    def num_layers(self) -> int:
        return len(self.layers)

    @property
    def sees_whole_tiles(self) -> bool:
        """True if the tokens of a picture's tile depend on each other, so that a step must have all of them."""
        return any(layer.sees_whole_tiles for layer in self.layers)

    @property
    def num_feature_layers(self) -> int:
        """The first layers, after which features of the encoder are added to the tokens of pictures."""
        return 0 if self.vision is None else len(self.vision.feature_layers)

    @property
    def heads(self) -> AttentionHeads:
        """The heads of layers that have none of their own."""
        return AttentionHeads(self.num_heads, self.num_kv_heads, self.head_dim)

    def heads_of(self, layer: Layer) -> AttentionHeads:
        """The heads of one layer."""
        return layer.heads or self.heads

    @property
    def oversized_rope(self) -> tuple[int, int] | None:
        """The lanes of a rotary embedding and those of a layer's heads, if these are fewer; None if all fit."""
        for layer in self.layers:
            if layer.kind != "attention" or layer.rope is None:
                continue
            num_lanes, head_dim = self.ropes[layer.rope].rotary_dim, self.heads_of(layer).head_dim
            if num_lanes > head_dim:
                return num_lanes, head_dim
        return None

    @property
    def query_size(self) -> int:
        """Width of the queries of all heads."""
        return self.heads.query_size

    @property
    def kv_size(self) -> int:
        """Width of the keys of all key-value heads, and of the values."""
        return self.heads.kv_size

    @property
    def score_scale(self) -> float:
        """The factor of the products of queries and keys."""
        return self.head_dim**-0.5 if self.attention_scale is None else self.attention_scale
