"""The Llama architecture (Touvron et al. 2023) as one compiled function over the tokens of a step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from workers.kernels.attention import attend, write_keys_values
from workers.kernels.barrier import wait
from workers.kernels.matrix import decode_weights, encode_row, matmul
from workers.kernels.rows import rms_norm, rotate, silu_gate


class Shape(NamedTuple):
    """The numbers of a ModelConfig that compiled code reads."""

    hidden_size: int
    ffn_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    norm_eps: float


class Weights(NamedTuple):
    """Weights stacked over the layers: matrices of one format, and vectors that end in zeros."""

    embedding: Any  # matrix (vocab, hidden)
    attention_norm: NDArray[np.float32]  # (layers, hidden)
    qkv: Any  # matrix (layers, (heads + 2 kv_heads) * head_dim, hidden)
    attention_output: Any  # matrix (layers, hidden, heads * head_dim)
    ffn_norm: NDArray[np.float32]  # (layers, hidden)
    gate_up: Any  # matrix (layers, 2 ffn, hidden)
    down: Any  # matrix (layers, hidden, ffn)
    output_norm: NDArray[np.float32]  # (1, hidden)
    output: Any  # matrix (vocab, hidden): the embedding itself where they are tied
    cosines: NDArray[np.float32]  # (max_context, head_dim / 2)
    sines: NDArray[np.float32]


class Step(NamedTuple):
    """The arrays of a Batch."""

    token_ids: NDArray[np.int32]  # (tokens,)
    positions: NDArray[np.int32]  # (tokens,)
    sequence_of_token: NDArray[np.int32]  # (tokens,)
    block_tables: NDArray[np.int32]  # (sequences, max_blocks)
    logit_rows: NDArray[np.int32]  # (rows,)


class Workspace(NamedTuple):
    """What lives between two phases of a step; the padding of every width stays zero or is never read."""

    hidden: NDArray[np.float32]  # (tokens, hidden): the residual stream
    normed: NDArray[np.float32]  # (tokens, hidden)
    normed_rows: Any  # the same in the form that matrices multiply
    qkv: NDArray[np.float32]  # (tokens, (heads + 2 kv_heads) * head_dim)
    attended: NDArray[np.float32]  # (tokens, heads * head_dim)
    attended_rows: Any
    gate_up: NDArray[np.float32]  # (tokens, 2 ffn)
    activated: NDArray[np.float32]  # (tokens, ffn)
    activated_rows: Any
    logits: NDArray[np.float32]  # (rows, vocab)
    attention_weights: NDArray[np.float32]  # (ranks, 16)
    attention_sums: NDArray[np.float32]  # (ranks, head_dim)
    barrier: NDArray[np.int64]


def compiled_step(fingerprint: str) -> Callable[..., None]:
    """The step that every rank of a team runs: hidden states of all tokens, logits of the rows asked for.

    `fingerprint` is read only so that numba, which keys its cache by the variables of a closure, compiles
    again when the kernels have changed.
    """

    @njit(nogil=True, cache=True, error_model="numpy")
    def step_of_rank(
        rank: int, size: int, shape: Shape, w: Weights, step: Step, keys: Any, values: Any, work: Workspace
    ) -> None:
        _ = fingerprint
        num_tokens = len(step.token_ids)
        _embed(w, step, work, rank, size)
        for layer in range(shape.num_layers):
            _normalise(work.hidden, w.attention_norm, layer, w.qkv, shape, num_tokens, work, rank, size)
            matmul(work.normed_rows, num_tokens, w.qkv, layer, work.qkv, False, rank, size)
            wait(work.barrier, size)
            _rotate_and_store(shape, w, step, layer, keys, values, work, rank, size)
            _attend(shape, w, step, layer, keys, values, work, rank, size)
            matmul(work.attended_rows, num_tokens, w.attention_output, layer, work.hidden, True, rank, size)
            wait(work.barrier, size)

            _normalise(work.hidden, w.ffn_norm, layer, w.gate_up, shape, num_tokens, work, rank, size)
            matmul(work.normed_rows, num_tokens, w.gate_up, layer, work.gate_up, False, rank, size)
            wait(work.barrier, size)
            _activate(shape, w, num_tokens, work, rank, size)
            matmul(work.activated_rows, num_tokens, w.down, layer, work.hidden, True, rank, size)
            wait(work.barrier, size)

        for row in range(rank, len(step.logit_rows), size):
            token = step.logit_rows[row]
            rms_norm(
                work.hidden, token, w.output_norm, 0, shape.hidden_size, shape.norm_eps, work.normed, row
            )
            encode_row(w.output, work.normed_rows, row, work.normed, row)
        wait(work.barrier, size)
        matmul(work.normed_rows, len(step.logit_rows), w.output, 0, work.logits, False, rank, size)
        wait(work.barrier, size)

    return step_of_rank  # type: ignore[no-any-return]  # numba is untyped


@njit(error_model="numpy")
def _embed(w: Weights, step: Step, work: Workspace, rank: int, size: int) -> None:
    for token in range(rank, len(step.token_ids), size):
        decode_weights(w.embedding, step.token_ids[token], work.hidden, token)
    wait(work.barrier, size)


@njit(error_model="numpy")
def _normalise(
    hidden: Any,
    gains: Any,
    layer: int,
    matrix: Any,
    shape: Shape,
    num_tokens: int,
    work: Workspace,
    rank: int,
    size: int,
) -> None:
    for token in range(rank, num_tokens, size):
        rms_norm(hidden, token, gains, layer, shape.hidden_size, shape.norm_eps, work.normed, token)
        encode_row(matrix, work.normed_rows, token, work.normed, token)
    wait(work.barrier, size)


@njit(error_model="numpy")
def _rotate_and_store(
    shape: Shape,
    w: Weights,
    step: Step,
    layer: int,
    keys: Any,
    values: Any,
    work: Workspace,
    rank: int,
    size: int,
) -> None:
    block_size = values.shape[3]
    key_column = shape.num_heads * shape.head_dim
    value_column = key_column + shape.num_kv_heads * shape.head_dim
    for token in range(rank, len(step.token_ids), size):
        position = step.positions[token]
        for head in range(shape.num_heads + shape.num_kv_heads):
            rotate(work.qkv, token, head * shape.head_dim, shape.head_dim, w.cosines, w.sines, position)
        block = step.block_tables[step.sequence_of_token[token], position // block_size]
        slot = position % block_size
        write_keys_values(work.qkv, token, key_column, value_column, keys, values, layer, block, slot)
    wait(work.barrier, size)


@njit(error_model="numpy")
def _attend(
    shape: Shape,
    w: Weights,
    step: Step,
    layer: int,
    keys: Any,
    values: Any,
    work: Workspace,
    rank: int,
    size: int,
) -> None:
    num_tokens, heads_per_kv_head = len(step.token_ids), shape.num_heads // shape.num_kv_heads
    for task in range(rank, num_tokens * shape.num_kv_heads, size):
        token, kv_head = task // shape.num_kv_heads, task % shape.num_kv_heads
        for head in range(kv_head * heads_per_kv_head, (kv_head + 1) * heads_per_kv_head):
            attend(
                work.qkv,
                token,
                head * shape.head_dim,
                keys,
                values,
                layer,
                kv_head,
                step.block_tables,
                step.sequence_of_token[token],
                step.positions[token] + 1,
                work.attention_weights,
                work.attention_sums,
                rank,
                work.attended,
            )
    wait(work.barrier, size)
    for token in range(rank, num_tokens, size):
        encode_row(w.attention_output, work.attended_rows, token, work.attended, token)
    wait(work.barrier, size)


@njit(error_model="numpy")
def _activate(shape: Shape, w: Weights, num_tokens: int, work: Workspace, rank: int, size: int) -> None:
    for token in range(rank, num_tokens, size):
        silu_gate(work.gate_up, token, shape.ffn_size, work.activated)
        encode_row(w.down, work.activated_rows, token, work.activated, token)
    wait(work.barrier, size)
