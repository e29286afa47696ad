"""Model families: readers of their files, and their forward passes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cactus_actors.models.checked_files import invalid
from cactus_actors.models.gguf_file import GGUFFile
from cactus_actors.workers.families.mmproj_reader import MmprojReader
from cactus_actors.workers.runtime.graph import Graph
from cactus_actors.workers.spec.attention_heads import heads_from_gguf, heads_from_json
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.model_config import Layer, ModelConfig
from cactus_actors.workers.spec.rope_config import rope_from_gguf, rope_from_json
from cactus_actors.workers.spec.vision_config import VisionConfig

GGUF_NAMES: Mapping[str, str] = {
    "token_embd": "embed_tokens",
    "output_norm": "norm",
    "output": "lm_head",
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
"""Names of tensors in GGUF files, without `blk.N.` and suffix -> names in Hugging Face files."""

Adjust = Callable[[ModelConfig, str, NDArray[np.float32]], NDArray[np.float32]]
"""(config, canonical name, tensor of a GGUF file) -> the tensor as in Hugging Face files."""


Biases = Literal["none", "attention", "all"]
"""The projections that may have biases; the config or the tensors say if they do."""


def unchanged(_config: ModelConfig, _name: str, tensor: NDArray[np.float32]) -> NDArray[np.float32]:
    """The adjustment of families whose tensors are the same in GGUF files."""
    return tensor


def ignores_nothing(_config: ModelConfig, _name: str) -> bool:
    """The answer of families whose models use all tensors."""
    return False


@dataclass(frozen=True, kw_only=True)
class DraftHeadFiles:
    """A head that drafts tokens, in the files of a model: one decoder layer and some tensors beside it.

    `num_layers` reads the number of its layers, 0 for none, from config.json or GGUF metadata. Canonical names begin
    with `prefix`; those of `own_names` are not in the layer. In GGUF files all are in the layer after the model's.
    """

    prefix: str
    own_names: frozenset[str]
    num_layers: Callable[[ConfigKeys], int]

    def name_of(self, part: str) -> str:
        """The canonical name of a tensor, from its name in the layer of a GGUF file."""
        return f"{self.prefix}{part}" if part in self.own_names else f"{self.prefix}layers.0.{part}"


@dataclass(frozen=True, kw_only=True)
class Family:
    """One family of models.

    `architectures` and `model_types` are the names in config.json, `gguf_architectures` those in
    `general.architecture`. Canonical tensor names are those of Hugging Face without `model.` and `.weight`.
    A tensor of `stacked_names` holds matrices of equal size below each other, which have these names; one of
    three dimensions holds those of every expert, whose index replaces STACK. A tensor of `interleaved_names` has
    matrices (inputs, outputs) of every expert, or their biases, and their outputs take turns; in MXFP4 it is a pair
    of tensors (outputs, blocks of inputs) whose names end in `_blocks` and `_scales`.
    """

    name: str
    examples: str  # well-known models
    architectures: tuple[str, ...]
    model_types: tuple[str, ...]
    gguf_architectures: tuple[str, ...]
    has_experts: bool = False
    read_json: Callable[[ConfigKeys], ModelConfig]
    read_gguf: Callable[[ConfigKeys, GGUFFile], ModelConfig]
    forward: Callable[[Graph, ModelConfig], None]
    encode: Callable[[Graph, VisionConfig], None] | None = None  # pictures, if the config has an encoder
    stacked_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    interleaved_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    has_transposed_stacks: bool = False  # if files may have (experts, inputs, outputs) under `stacked_names`
    ignores: Callable[[ModelConfig, str], bool] = ignores_nothing  # names of tensors that this model does not use
    unused: tuple[str, ...] = ()  # beginnings of names of tensors that its files may have and no graph needs
    mmproj: MmprojReader | None = None  # of encoders in GGUF files
    draft_head: DraftHeadFiles | None = None  # for drafts of tokens, if there is one in the files of some models
    gguf_names: Mapping[str, str] = field(default_factory=lambda: GGUF_NAMES)
    adjust_gguf: Adjust = unchanged


def build_graph(family: Family, config: ModelConfig) -> Graph:
    """The graph of a family's forward pass for one config, with that of its encoder if it has one."""
    graph = Graph(config)
    family.forward(graph, config)
    if config.vision is not None and family.encode is not None:
        graph.encoder = Graph(config)
        family.encode(graph.encoder, config.vision)
    return graph


def decoder_from_json(
    keys: ConfigKeys, family: str, *, biases: Biases = "none", window: int = 0, **special: Any
) -> ModelConfig:
    """The config of a decoder from the usual keys of config.json; `special` overrides or adds to it.

    Without `layers`, every layer has this window and, if the model has experts, experts.
    """
    heads = heads_from_json(keys)
    num_layers = keys.integer("num_hidden_layers", "num_layers")
    keys.require_one_of("auto_map", None)  # it names custom code, which is never run
    keys.require_one_of("quantization_config", None)
    return _checked(
        keys,
        {
            "family": family,
            "vocab_size": keys.integer("vocab_size", "vocab_size"),
            "hidden_size": keys.integer("hidden_size", "hidden_size"),
            "ffn_size": keys.integer("intermediate_size", "ffn_size"),
            **heads._asdict(),
            "norm_eps": keys.number("rms_norm_eps", "norm_eps", 1e-6),
            "max_context": keys.integer("max_position_embeddings", "max_context", 2048),
            **_biases_from_json(keys, biases),
            "tie_embeddings": keys.boolean("tie_word_embeddings", default=False),
            "layers": (Layer(window=window, has_experts="experts" in special),) * num_layers,
            "ropes": special.get("ropes") or (rope_from_json(keys, heads.head_dim),),
        },
        special,
    )


def decoder_from_gguf(
    keys: ConfigKeys, file: GGUFFile, family: str, *, biases: Biases = "none", window: int = 0, **special: Any
) -> ModelConfig:
    """The configuration from GGUF metadata; the vocabulary size is the number of rows of the embedding."""
    embedding = file.tensors.get("token_embd.weight")
    if embedding is None or len(embedding.shape) != 2:
        raise invalid(file.path, "no tensor token_embd.weight of two dimensions; a file of vocabulary only?")
    vocab_size = embedding.shape[0]
    tokens = file.metadata.get("tokenizer.ggml.tokens", [])
    if not isinstance(tokens, list) or len(tokens) > vocab_size:
        raise invalid(file.path, f"tokenizer.ggml.tokens: more than the {vocab_size} rows of the embedding")
    keys.require_one_of("vocab_size", vocab_size, None)
    heads = heads_from_gguf(keys)
    keys.require_one_of("attention.value_length", heads.head_dim, None)
    num_layers = keys.integer("block_count", "num_layers")
    return _checked(
        keys,
        {
            "family": family,
            "vocab_size": vocab_size,
            "hidden_size": keys.integer("embedding_length", "hidden_size"),
            "ffn_size": keys.integer("feed_forward_length", "ffn_size"),
            **heads._asdict(),
            "norm_eps": keys.number("attention.layer_norm_rms_epsilon", "norm_eps"),
            "max_context": keys.integer("context_length", "max_context"),
            **_biases_from_gguf(file, biases),
            "tie_embeddings": "output.weight" not in file.tensors,
            "layers": (Layer(window=window, has_experts="experts" in special),) * num_layers,
            "ropes": special.get("ropes") or (rope_from_gguf(keys, file, heads.head_dim),),
        },
        special,
    )


def _biases_from_json(keys: ConfigKeys, biases: Biases) -> dict[str, bool]:
    has_attention_bias = biases != "none" and keys.boolean("attention_bias", default=False)
    has_ffn_bias = biases == "all" and keys.boolean("mlp_bias", default=False)
    return {"attention_bias": has_attention_bias, "output_bias": has_attention_bias, "ffn_bias": has_ffn_bias}


def _biases_from_gguf(file: GGUFFile, biases: Biases) -> dict[str, bool]:
    names = {"attention_bias": "attn_q", "output_bias": "attn_output", "ffn_bias": "ffn_down"}
    num_read = {"none": 0, "attention": 2, "all": 3}[biases]
    return {bias: f"blk.0.{name}.bias" in file.tensors for bias, name in list(names.items())[:num_read]}


def _checked(keys: ConfigKeys, common: dict[str, Any], special: dict[str, Any]) -> ModelConfig:
    """The config, after checks of relations between its values."""
    config = ModelConfig(**(common | special))
    if (sizes := config.oversized_rope) is not None:
        raise invalid(keys.path, f"a rotary embedding of {sizes[0]} lanes in heads of {sizes[1]}")
    return config.within_original_context()
