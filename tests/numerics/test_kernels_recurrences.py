"""Kernels of recurrences against float64, in any chunks; they do not touch the memory next to their rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cactus_actors.workers.kernels import causal_conv as convolution
from cactus_actors.workers.kernels import delta_rule as delta
from cactus_actors.workers.kernels import head_kernels as heads
from cactus_actors.workers.kernels import selective_scan as scan
from cactus_actors.workers.kernels import shift as shifting
from cactus_actors.workers.kernels.aligned_memory import round_up
from cactus_actors.workers.kernels.matrix import WIDTH_MULTIPLE
from tests.support.models.for_python import for_python

causal_conv = for_python(convolution.causal_conv)
delta_rule = for_python(delta.delta_rule)
unit_head = for_python(heads.unit_head)
gated_norm_head = for_python(heads.gated_norm_head)
sigmoid_gate = for_python(heads.sigmoid_gate)
norm_gated_head = for_python(heads.norm_gated_head)
delta_gates = for_python(heads.delta_gates)
scan_gates = for_python(heads.scan_gates)
selective_scan = for_python(scan.selective_scan)
shift = for_python(shifting.shift)

CHANNELS, COLUMNS = convolution.CHANNELS_OF_PART, delta.COLUMNS_OF_PART
CANARY = np.float32(-7.25)
NUM_TOKENS = 23
CHUNKS = [[23], [1] * 23, [5, 1, 17], [2, 2, 19]]


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x.astype(np.float64)))


def close(values: np.ndarray, exact: np.ndarray, tolerance: float = 2e-6) -> bool:
    return bool(np.abs(values - exact).max() <= tolerance * np.abs(exact).max())


def convolved(channels: int, num_taps: int, part: int, chunks: list[int], bias_start: int = -1) -> np.ndarray:
    """One part of the convolution, chunk by chunk, (tokens, padded channels)."""
    width = round_up(channels, WIDTH_MULTIPLE)
    rows, taps = numbers(NUM_TOKENS, width), np.zeros((num_taps, width), np.float32)
    taps[:, :channels] = numbers(num_taps, channels, seed=1)
    state = np.zeros((num_taps - 1) * CHANNELS + 9, np.float32)
    out = np.full((NUM_TOKENS, width), CANARY, np.float32)
    first = 0
    for size in chunks:
        at = first * width
        inputs = (state, 9, part, rows.ravel(), at, width, size, taps.ravel(), 0, num_taps, channels, bias_start)
        causal_conv(*inputs, out.ravel(), at, width)
        first += size
    assert not state[:9].any()
    return out


@pytest.mark.parametrize(("channels", "num_taps"), [(16, 4), (50, 3), (CHANNELS + 40, 4), (70, 2), (33, 1)])
def test_a_convolution_reads_the_previous_inputs(channels: int, num_taps: int) -> None:
    rows = numbers(NUM_TOKENS, round_up(channels, WIDTH_MULTIPLE))[:, :channels].astype(np.float64)
    taps = numbers(num_taps, channels, seed=1).astype(np.float64)
    padded = np.concatenate([np.zeros((num_taps - 1, channels)), rows])
    plain = sum(taps[tap] * padded[tap : tap + NUM_TOKENS] for tap in range(num_taps))
    exact = plain * sigmoid(plain)
    for part in range(-(-channels // CHANNELS)):
        first, last = part * CHANNELS, min(channels, part * CHANNELS + CHANNELS)
        whole = convolved(channels, num_taps, part, CHUNKS[0])
        assert close(whole[:, first:last], exact[:, first:last])
        assert (whole[:, :first] == CANARY).all()
        assert (whole[:, round_up(last, 16) :] == CANARY).all()
        for chunks in CHUNKS[1:]:
            assert np.array_equal(convolved(channels, num_taps, part, chunks), whole)
        biased = convolved(channels, num_taps, part, CHUNKS[0], bias_start=0)  # the first tap again
        with_bias = (plain + taps[0]) * sigmoid(plain + taps[0])
        assert close(biased[:, first:last], with_bias[:, first:last])


def ruled(
    key_dim: int, num_columns: int, chunks: list[int], advance: Any = delta_rule
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of query, key, value, strength and decay; the outputs of some columns of the recurrence; the state."""
    width = 2 * key_dim + num_columns + 2
    rows = numbers(NUM_TOKENS, width)
    rows[:, : 2 * key_dim] /= np.sqrt(key_dim)
    rows[:, -2:] = sigmoid(rows[:, -2:])
    state = np.zeros(key_dim * COLUMNS, np.float32)
    out = np.full((NUM_TOKENS, num_columns + 3), CANARY, np.float32)
    first, gates = 0, 2 * key_dim + num_columns
    for size in chunks:
        at = first * width
        starts = (at, at + key_dim, at + 2 * key_dim, at + gates)
        target = (out.ravel(), first * out.shape[1] + 1, out.shape[1])
        advance(state, 0, key_dim, rows.ravel(), *starts, 1, width, size, num_columns, 0.5, *target)
        first += size
    assert (out[:, 0] == CANARY).all()
    assert (out[:, num_columns + 1 :] == CANARY).all()
    return rows, out[:, 1 : num_columns + 1], state.reshape(key_dim, COLUMNS)


@pytest.mark.parametrize(("key_dim", "num_columns"), [(16, 32), (18, 20), (7, 5), (128, 32), (1, 16)])
def test_the_delta_rule_equals_its_formula(key_dim: int, num_columns: int) -> None:
    rows, read, state = ruled(key_dim, num_columns, CHUNKS[0])
    query, key, value, gates = np.split(rows.astype(np.float64), [key_dim, 2 * key_dim, 2 * key_dim + num_columns], 1)
    matrix, exact = np.zeros((key_dim, num_columns)), np.empty_like(value)
    for token, (strength, decay) in enumerate(gates):
        matrix *= decay
        matrix += np.outer(key[token], strength * (value[token] - key[token] @ matrix))
        exact[token] = 0.5 * query[token] @ matrix
    assert close(read, exact)
    assert close(state[:, :num_columns], matrix)
    assert not state[:, num_columns:].any()
    for chunks in CHUNKS[1:]:
        _, in_chunks, left = ruled(key_dim, num_columns, chunks)
        assert np.array_equal(in_chunks, read)
        assert np.array_equal(left, state)


@pytest.mark.parametrize(("key_dim", "num_columns"), [(16, 32), (11, 20), (1, 16)])
def test_the_selective_scan_equals_its_formula(key_dim: int, num_columns: int) -> None:
    rows, read, state = ruled(key_dim, num_columns, CHUNKS[0], selective_scan)
    query, key, value, gates = np.split(rows.astype(np.float64), [key_dim, 2 * key_dim, 2 * key_dim + num_columns], 1)
    matrix, exact = np.zeros((key_dim, num_columns)), np.empty_like(value)
    for token, (step, decay) in enumerate(gates):
        matrix = decay * matrix + np.outer(key[token], step * value[token])
        exact[token] = query[token] @ matrix + 0.5 * value[token]
    assert close(read, exact)
    assert close(state[:, :num_columns], matrix)
    assert not state[:, num_columns:].any()
    for chunks in CHUNKS[1:]:
        _, in_chunks, left = ruled(key_dim, num_columns, chunks, selective_scan)
        assert np.array_equal(in_chunks, read)
        assert np.array_equal(left, state)


def in_place(values: np.ndarray, change) -> np.ndarray:
    row = np.full(len(values) + 30, CANARY, np.float32)
    row[5 : 5 + len(values)] = values
    change(row, 5)
    assert (row[:5] == CANARY).all()
    assert (row[5 + len(values) :] == CANARY).all()
    return row[5 : 5 + len(values)]


@pytest.mark.parametrize("width", [1, 15, 16, 17, 72, 128])
def test_heads_are_normalised_and_gated(width: int) -> None:
    values, gains, gate = numbers(width), numbers(width, seed=1), numbers(width + 4, seed=2)
    exact = values.astype(np.float64)
    unit = in_place(values, lambda row, start: unit_head(row, start, width))
    assert close(unit, exact / np.sqrt((exact**2).sum() + heads.UNIT_EPSILON))
    gated = in_place(values, lambda row, start: sigmoid_gate(row, start, gate, 4, width))
    assert close(gated, exact * sigmoid(gate[4:]))
    normed = in_place(values, lambda row, start: gated_norm_head(row, start, gains, 0, gate, 4, width, 0.01))
    assert close(normed, exact / np.sqrt((exact**2).mean() + 0.01) * gains * gate[4:] * sigmoid(gate[4:]))
    first_gated = in_place(values, lambda row, start: norm_gated_head(row, start, gains, 0, gate, 4, width, 0.01))
    exact = exact * gate[4:] * sigmoid(gate[4:])
    assert close(first_gated, exact / np.sqrt((exact**2).mean() + 0.01) * gains)


@pytest.mark.parametrize("num_heads", [1, 3, 16, 21])
def test_strengths_and_decays_equal_their_formulas(num_heads: int) -> None:
    given = 4 * numbers(2 * num_heads)
    given[num_heads] = 60.0  # softplus is x there, and e^x where it is far below zero
    vectors = numbers(2 * num_heads, seed=1)
    given[-1] = -60.0 if num_heads > 1 else given[-1]
    out = in_place(np.zeros(2 * num_heads), lambda row, start: delta_gates(given, 0, vectors, 0, num_heads, row, start))
    b, a, (rate, bias) = given[:num_heads], given[num_heads:].astype(np.float64), np.split(vectors.astype(float), 2)
    assert close(out[:num_heads], sigmoid(b))
    step = np.logaddexp(0, a + bias)
    exponents = np.log(np.maximum(out[num_heads:].astype(np.float64), np.exp(-80)))
    assert np.abs(exponents + np.minimum(np.exp(rate) * step, 80)).max() < 1e-4
    a = given[num_heads:]
    steps = in_place(np.zeros(2 * num_heads), lambda row, start: scan_gates(a, 0, vectors, 0, num_heads, row, start))
    assert close(steps[:num_heads], step)
    assert np.array_equal(steps[num_heads:], out[num_heads:])


@pytest.mark.parametrize("width", [16, 50, shifting.COLUMNS_OF_PART + 40])
@pytest.mark.parametrize("chunks", CHUNKS)
def test_a_shift_gives_each_token_the_row_before_it(width: int, chunks: list[int]) -> None:
    stride = round_up(width, WIDTH_MULTIPLE)
    rows, out = numbers(NUM_TOKENS, stride), np.full((NUM_TOKENS, stride), CANARY, np.float32)
    for part in range(-(-width // shifting.COLUMNS_OF_PART)):
        state = np.zeros(shifting.COLUMNS_OF_PART + 9, np.float32)
        first = 0
        for size in chunks:
            at = first * stride
            shift(state, 9, part, rows.ravel(), at, stride, size, width, out.ravel(), at, stride)
            first += size
        assert not state[:9].any()
    assert np.array_equal(out[1:, :width], rows[:-1, :width])
    assert not out[0].any()
    assert not out[:, width:].any(), "padding is zero for the operations after it"
