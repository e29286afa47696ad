"""A Llama model that runs steps: packed weights, scratch memory and a team of threads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cactus_actors.protocol.errors import ConfigurationInvalid, ModelFileInvalid
from workers.batch import Batch
from workers.kernels.barrier import new_barrier
from workers.kernels.compiling import compiling_alone, fingerprint
from workers.kernels.matrix import WIDTH_MULTIPLE, WeightFormat
from workers.kernels.memory import aligned_zeros, round_up
from workers.kernels.team import Team
from workers.kv_cache import KVCache
from workers.models.config import ModelConfig
from workers.models.llama_step import Shape, Step, Weights, Workspace, compiled_step

Tensors = Mapping[str, NDArray[np.float32]]


class LlamaModel:
    """Runs the tokens of a step on `threads` threads; compiled when it is built, in seconds the first time.

    The logits of a token are the same bits whatever else is in the batch, however its prompt is cut into
    steps, and for any number of threads. One caller at a time.
    """

    def __init__(
        self, config: ModelConfig, tensors: Tensors, weight_format: WeightFormat, threads: int
    ) -> None:
        check_runnable(config, threads)
        self.config = config
        self.weights_format = weight_format.name
        self.kernels = weight_format.kernels
        self._format = weight_format
        self._shape = shape_of(config)
        self._weights = pack_weights(config, tensors, weight_format)
        self._workspace = self._new_workspace(max_tokens=16, max_rows=16, threads=threads)
        step = compiled_step(fingerprint())
        with compiling_alone(step):
            self._warm_up(step)
        self._team = Team(threads, step)

    def forward(self, batch: Batch, cache: KVCache) -> NDArray[np.float32]:
        """Logits (rows, vocab) of `batch.logit_rows`, a view that the next call overwrites.

        Writes the keys and values of every token of the batch into `cache`.
        """
        step = self._step_of(batch)
        self._make_room(len(step.token_ids), len(step.logit_rows))
        self._team.run(self._shape, self._weights, step, cache.keys, cache.values, self._workspace)
        return self._workspace.logits[: len(step.logit_rows), : self.config.vocab_size]

    def close(self) -> None:
        """Stop the threads; the model runs no more steps."""
        self._team.close()

    def _step_of(self, batch: Batch) -> Step:
        # Copies: compiled code sees one type whatever the caller's arrays are.
        def copy(array: NDArray[Any]) -> NDArray[np.int32]:
            return np.array(array, dtype=np.int32, order="C")

        step = Step(
            copy(batch.token_ids),
            copy(batch.positions),
            copy(batch.sequence_of_token),
            copy(batch.block_tables),
            copy(batch.logit_rows),
        )
        # As unsigned, a negative index is too large as well: kernels would read foreign memory.
        assert step.token_ids.view(np.uint32).max() < self.config.vocab_size, (
            "token id outside the vocabulary"
        )
        assert step.positions.view(np.uint32).max() < self.config.max_context, "position outside the context"
        return step

    def _make_room(self, num_tokens: int, num_rows: int) -> None:
        max_tokens, max_rows = len(self._workspace.hidden), len(self._workspace.logits)
        if num_tokens > max_tokens or num_rows > max_rows:
            self._workspace = self._new_workspace(
                max_tokens=max(max_tokens, 1 << (num_tokens - 1).bit_length()),
                max_rows=max(max_rows, num_rows),
                threads=self._team.size,
            )

    def _new_workspace(self, *, max_tokens: int, max_rows: int, threads: int) -> Workspace:
        shape = self._shape
        heads_size = shape.num_heads * shape.head_dim
        qkv_size = heads_size + 2 * shape.num_kv_heads * shape.head_dim

        def floats(num_rows: int, num_columns: int) -> NDArray[np.float32]:
            return aligned_zeros((num_rows, round_up(num_columns, WIDTH_MULTIPLE)), np.float32)

        return Workspace(
            hidden=floats(max_tokens, shape.hidden_size),
            normed=floats(max_tokens, shape.hidden_size),
            normed_rows=self._format.empty_rows(max_tokens, shape.hidden_size),
            qkv=floats(max_tokens, qkv_size),
            attended=floats(max_tokens, heads_size),
            attended_rows=self._format.empty_rows(max_tokens, heads_size),
            gate_up=floats(max_tokens, 2 * shape.ffn_size),
            activated=floats(max_tokens, shape.ffn_size),
            activated_rows=self._format.empty_rows(max_tokens, shape.ffn_size),
            logits=floats(max_rows, self.config.vocab_size),
            attention_weights=floats(threads, 16),
            attention_sums=floats(threads, shape.head_dim),
            barrier=new_barrier(),
        )

    def _warm_up(self, step: Any) -> None:
        """Compile the step by running one token through it on this thread."""
        one = np.zeros(1, dtype=np.int32)
        cache = KVCache.allocate(self.config, num_blocks=1)
        arrays = Step(one, one, one, one.reshape(1, 1), one)
        step(0, 1, self._shape, self._weights, arrays, cache.keys, cache.values, self._workspace)


def check_runnable(config: ModelConfig, threads: int) -> None:
    """Raise ModelFileInvalid for a shape that kernels do not take, ConfigurationInvalid for `threads`."""
    if not 1 <= threads <= 1024:
        raise ConfigurationInvalid(f"threads must be between 1 and 1024, not {threads}", param="threads")
    if config.head_dim % 4:
        raise ModelFileInvalid(f"head_dim {config.head_dim} is not a multiple of 4")
    if config.num_heads % config.num_kv_heads:
        raise ModelFileInvalid(
            f"num_heads {config.num_heads} is not a multiple of num_kv_heads {config.num_kv_heads}"
        )


def shape_of(config: ModelConfig) -> Shape:
    """What compiled code reads of a config."""
    return Shape(
        config.hidden_size,
        config.ffn_size,
        config.num_layers,
        config.num_heads,
        config.num_kv_heads,
        config.head_dim,
        config.norm_eps,
    )


def pack_weights(config: ModelConfig, tensors: Tensors, weight_format: WeightFormat) -> Weights:
    """All weights in one format, read and packed one tensor at a time.

    Raises ModelFileInvalid for a tensor that is missing, of another shape than the config's, or not finite.
    """
    shapes = config.tensor_shapes()

    def read(name: str) -> NDArray[np.float32]:
        if name not in tensors:
            raise ModelFileInvalid(f"tensor {name!r} is missing")
        tensor = tensors[name]
        if tensor.shape != shapes[name]:
            raise ModelFileInvalid(
                f"tensor {name!r} has shape {list(tensor.shape)}, expected {list(shapes[name])}"
            )
        # The sum of finite numbers may overflow, so it only tells when to look closer.
        if not np.isfinite(np.sum(tensor, dtype=np.float64)) and not np.isfinite(tensor).all():
            raise ModelFileInvalid(f"tensor {name!r} has values that are not finite")
        return tensor

    def matrix(*names: str) -> Any:
        """The weights of these names below each other, for every layer."""
        num_rows = sum(shapes[f"layers.0.{name}"][0] for name in names)
        packed = weight_format.empty_matrix(config.num_layers, num_rows, shapes[f"layers.0.{names[0]}"][1])
        for layer in range(config.num_layers):
            weight_format.fill(
                packed, layer, np.concatenate([read(f"layers.{layer}.{name}") for name in names])
            )
        return packed

    def single(name: str) -> Any:
        packed = weight_format.empty_matrix(1, *shapes[name])
        weight_format.fill(packed, 0, read(name))
        return packed

    def gains(*names: str) -> NDArray[np.float32]:
        padded = aligned_zeros((len(names), round_up(config.hidden_size, WIDTH_MULTIPLE)), np.float32)
        for row, name in enumerate(names):
            padded[row, : config.hidden_size] = read(name)
        return padded

    layers = range(config.num_layers)
    embedding = single("embed_tokens")
    cosines, sines = rotary_tables(config)
    return Weights(
        embedding=embedding,
        attention_norm=gains(*(f"layers.{layer}.input_layernorm" for layer in layers)),
        qkv=matrix("q_proj", "k_proj", "v_proj"),
        attention_output=matrix("o_proj"),
        ffn_norm=gains(*(f"layers.{layer}.post_attention_layernorm" for layer in layers)),
        gate_up=matrix("gate_proj", "up_proj"),
        down=matrix("down_proj"),
        output_norm=gains("norm"),
        output=embedding if config.tie_embeddings else single("lm_head"),
        cosines=cosines,
        sines=sines,
    )


def rotary_tables(config: ModelConfig) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Cosines and sines of position * theta^(-2i / head_dim), (max_context, head_dim / 2) each."""
    frequencies = config.rope_theta ** (-np.arange(0, config.head_dim, 2) / config.head_dim)
    angles = np.outer(np.arange(config.max_context), frequencies)
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
