"""Kernels over single rows against float64; they neither read nor write the memory next to a row."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cactus_actors.workers.kernels import experts
from cactus_actors.workers.kernels import row_kernels as rows
from cactus_actors.workers.kernels import short_conv as convolution
from cactus_actors.workers.kernels.aligned_memory import round_up
from cactus_actors.workers.kernels.matrix import WIDTH_MULTIPLE
from tests.support.models.for_python import for_python

add_row = for_python(rows.add_row)
gate_clamped = for_python(rows.gate_clamped)
gate_gelu = for_python(rows.gate_gelu)
gate_head = for_python(rows.gate_head)
gate_silu = for_python(rows.gate_silu)
gelu_times = for_python(rows.gelu_times)
growth_of_queries = for_python(rows.growth_of_queries)
norm_head = for_python(rows.norm_head)
norm_plain_head = for_python(rows.norm_plain_head)
rms_norm = for_python(rows.rms_norm)
rotate = for_python(rows.rotate)
scale_row = for_python(rows.scale_row)
softcap_row = for_python(rows.softcap_row)
choose_experts = for_python(experts.choose_experts)
choose_experts_by_sigmoid = for_python(experts.choose_experts_by_sigmoid)
score_experts = for_python(experts.score_experts)
short_conv = for_python(convolution.short_conv)
store_state = for_python(convolution.store_state)

WIDTHS = [1, 15, 16, 17, 64, 72, 200]
CANARY = np.float32(-7.25)
NEIGHBOUR = 1e30


def numbers(count, *, seed=0, scale=1.0):
    return (scale * np.random.default_rng([seed, count]).standard_normal(count)).astype(np.float32)


def between(values, *, start=5, neighbour=CANARY, behind=80):
    """The values from `start` on, with other values before and after."""
    row = np.full(start + len(values) + behind, neighbour, np.float32)
    row[start : start + len(values)] = values
    return row


def changed_in_place(values, change, *, start=5):
    """The result of `change(row, start)` on the values; it must not touch their neighbours."""
    row = between(values, start=start)
    change(row, start)
    assert (row[:start] == CANARY).all()
    assert (row[start + len(values) :] == CANARY).all()
    return row[start : start + len(values)]


def new_row(num_columns, fill, *, start=3):
    """The output of `fill(out, start, first, last)`: zeros after it up to the padded width, nothing outside of that.

    The slices of a row, each written alone, are the whole row.
    """
    width = round_up(num_columns, WIDTH_MULTIPLE)
    out = np.full(start + width + 20, CANARY, np.float32)
    fill(out, start, 0, width)
    in_slices = np.full_like(out, CANARY)
    for first in range(0, width, WIDTH_MULTIPLE):
        fill(in_slices, start, first, first + WIDTH_MULTIPLE)
    assert np.array_equal(in_slices, out, equal_nan=True)
    assert (out[:start] == CANARY).all()
    assert (out[start + width :] == CANARY).all()
    assert not out[start + num_columns : start + width].any()
    return out[start : start + num_columns]


def padded(values):
    row = np.zeros(round_up(len(values), WIDTH_MULTIPLE), np.float32)
    row[: len(values)] = values
    return row


def normed(values, gains, epsilon):
    exact = values.astype(np.float64)
    return exact / np.sqrt((exact * exact).mean() + epsilon) * gains.astype(np.float64)


@pytest.mark.parametrize("num_columns", WIDTHS)
def test_rms_norm_equals_its_formula(num_columns):
    values, gains = numbers(num_columns), numbers(num_columns, seed=1)
    source = between(values, neighbour=NEIGHBOUR)
    out = new_row(num_columns, lambda out, *at: rms_norm(source, 5, padded(gains), 0, num_columns, 1e-5, out, *at))
    np.testing.assert_allclose(out, normed(values, gains, 1e-5), rtol=1e-6)


def test_rms_norm_in_place_gives_the_same_bits():
    values, gains = numbers(200), padded(numbers(200, seed=1))
    row, out = padded(values), np.zeros(256, np.float32)
    rms_norm(row, 0, gains, 0, 200, 1e-6, out, 0, 0, 256)
    rms_norm(row, 0, gains, 0, 200, 1e-6, row, 0, 0, 256)
    assert np.array_equal(row, out)


def test_rms_norm_of_zeros_is_zeros():
    assert not new_row(
        32, lambda out, *at: rms_norm(np.zeros(64, np.float32), 0, numbers(64), 0, 32, 1e-6, out, *at)
    ).any()


@pytest.mark.parametrize("head_dim", [2, 16, 30, 64, 80, 128])
def test_norm_head_equals_its_formula(head_dim):
    values, gains = numbers(head_dim), numbers(head_dim, seed=1)
    head = changed_in_place(values, lambda row, start: norm_head(row, start, padded(gains), 0, head_dim, 1e-6))
    np.testing.assert_allclose(head, normed(values, gains, 1e-6), rtol=1e-6)


@pytest.mark.parametrize("head_dim", [2, 16, 30, 80])
def test_norm_head_without_gains_equals_its_formula(head_dim):
    values = numbers(head_dim)
    head = changed_in_place(values, lambda row, start: norm_plain_head(row, start, head_dim, 1e-6))
    np.testing.assert_allclose(head, normed(values, np.ones(head_dim), 1e-6), rtol=1e-6)


@pytest.mark.parametrize("num_columns", [2, 16, 30, 80])
def test_gelu_times_equals_its_formula(num_columns):
    values, factors = numbers(num_columns, scale=3), numbers(num_columns, seed=1)
    row = changed_in_place(values, lambda row, start: gelu_times(row, start, between(factors, start=7), 7, num_columns))
    u = np.sqrt(2 / np.pi) * (values + 0.044715 * values.astype(np.float64) ** 3)
    np.testing.assert_allclose(row, 0.5 * values * (1 + np.tanh(u)) * factors, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("rotary_dim", [2, 16, 32, 48, 64, 80, 128])
def test_rotate_equals_its_formula(rotary_dim):
    half = rotary_dim // 2
    values, angles = numbers(rotary_dim + 6), np.random.default_rng(0).uniform(0, 6, half)
    cosines, sines = (between(table, start=7) for table in (np.cos(angles), np.sin(angles)))
    turned = changed_in_place(values, lambda row, start: rotate(row, start, rotary_dim, cosines, sines, 7))
    first, second = values[:half].astype(np.float64), values[half:rotary_dim].astype(np.float64)
    expected = np.concatenate(
        [first * np.cos(angles) - second * np.sin(angles), second * np.cos(angles) + first * np.sin(angles)]
    )
    np.testing.assert_allclose(turned[:rotary_dim], expected, rtol=0, atol=1e-6)
    assert np.array_equal(turned[rotary_dim:], values[rotary_dim:])


def silu(x):
    return x / (1 + np.exp(-x))


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


@pytest.mark.parametrize(("kernel", "activation"), [(gate_silu, silu), (gate_gelu, gelu_tanh)])
@pytest.mark.parametrize("num_columns", WIDTHS)
def test_gates_equal_their_formulas(kernel, activation, num_columns):
    gate, up = numbers(num_columns, scale=3), numbers(num_columns, seed=1)
    source = between(np.concatenate([gate, up]), neighbour=NEIGHBOUR)
    out = new_row(num_columns, lambda out, *at: kernel(source, 5, num_columns, out, *at))
    expected = activation(gate.astype(np.float64)) * up.astype(np.float64)
    np.testing.assert_allclose(out, expected, rtol=5e-6, atol=1e-6)


@pytest.mark.parametrize(("kernel", "activation"), [(gate_silu, silu), (gate_gelu, gelu_tanh)])
def test_gates_are_accurate_far_from_zero(kernel, activation):
    gate = np.array([-200, -80, -20, -8, -1e-3, 0, 1e-20, 1e-3, 8, 20, 80, 200], np.float32)
    source = np.concatenate([gate, np.ones_like(gate)])
    out = new_row(len(gate), lambda out, *at: kernel(between(source), 5, len(gate), out, *at))
    np.testing.assert_allclose(out, activation(gate.astype(np.float64)), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("num_columns", WIDTHS)
def test_clamped_gate_equals_its_formula(num_columns):
    gate, up = numbers(num_columns, scale=8), numbers(num_columns, seed=1, scale=8)
    biases = numbers(2 * num_columns, seed=2, scale=2)
    source = between(np.concatenate([gate, up]), neighbour=NEIGHBOUR)
    beside = between(biases, start=7, neighbour=NEIGHBOUR)
    out = new_row(num_columns, lambda out, *at: gate_clamped(source, 5, num_columns, beside, 7, 1.702, 7.0, out, *at))
    added = np.concatenate([gate, up]).astype(np.float64) + biases
    gate, up = np.minimum(added[:num_columns], 7), np.clip(added[num_columns:], -7, 7)
    np.testing.assert_allclose(out, gate / (1 + np.exp(-1.702 * gate)) * (up + 1), rtol=5e-6, atol=3e-6)


@pytest.mark.parametrize("num_columns", WIDTHS)
def test_add_row_equals_its_formula(num_columns):
    values, added = numbers(num_columns), numbers(num_columns, seed=1)
    source = between(added, start=9)
    total = changed_in_place(values, lambda row, start: add_row(row, start, source, 9, num_columns))
    assert np.array_equal(total, values + added)


@pytest.mark.parametrize("num_columns", WIDTHS)
def test_scale_row_equals_its_formula(num_columns):
    values = numbers(num_columns)
    scaled = changed_in_place(values, lambda row, start: scale_row(row, start, num_columns, 1.5))
    assert np.array_equal(scaled, values * np.float32(1.5))


@pytest.mark.parametrize("num_columns", WIDTHS)
def test_softcap_row_equals_its_formula(num_columns):
    values = numbers(num_columns, scale=40)
    capped = changed_in_place(values, lambda row, start: softcap_row(row, start, num_columns, 30.0))
    np.testing.assert_allclose(capped, 30 * np.tanh(values.astype(np.float64) / 30), rtol=1e-6)


def test_softcap_is_accurate_for_all_floats():
    small = np.geomspace(1e-30, 30, 400, dtype=np.float32)
    large = np.array([0, 88, 1e4, 3e38, math.inf], np.float32)
    values = np.concatenate([small, large, -small, -large])
    capped = changed_in_place(values, lambda row, start: softcap_row(row, start, len(values), 1.0))
    np.testing.assert_allclose(capped, np.tanh(values.astype(np.float64)), rtol=4e-7)
    assert np.array_equal(np.signbit(capped), np.signbit(values))


@pytest.mark.parametrize("place", [0, 20, 35])
def test_nan_stays_nan(place):
    values = numbers(40)
    values[place] = math.nan
    for kernel in (gate_silu, gate_gelu):
        source = np.concatenate([values, numbers(40)])
        out = new_row(40, lambda out, *at, kernel=kernel, source=source: kernel(source, 0, 40, out, *at))
        assert np.array_equal(np.isnan(out), np.isnan(values))
    capped = changed_in_place(values, lambda row, start: softcap_row(row, start, 40, 30.0))
    assert np.array_equal(np.isnan(capped), np.isnan(values))


class ShortConvolution:
    """A sequence of rows in blocks of four, in the order 2, 0, 3, processed by layer 1 of 2."""

    block_tables = np.array([[1, 1, 1], [2, 0, 3]], np.int32)

    def __init__(self, num_columns, num_taps, num_positions=11):
        self.num_columns, self.num_taps = num_columns, num_taps
        self.rows = numbers(num_positions * 3 * num_columns).reshape(num_positions, 3 * num_columns)
        self.taps = numbers(num_taps * num_columns, seed=1).reshape(num_taps, num_columns)
        self.states = np.full((2, 4, 4, round_up(num_columns, 16)), CANARY, np.float32)

    def store(self, position):
        block = self.block_tables[1, position // 4]
        row = between(self.rows[position], neighbour=NEIGHBOUR)
        store_state(self.states, 1, block, position % 4, row, 5, self.num_columns)

    def output(self, position):
        taps = between(np.concatenate([padded(tap) for tap in self.taps]), start=6)
        row = between(self.rows[position], neighbour=NEIGHBOUR)
        return new_row(
            self.num_columns,
            lambda out, start, *_: short_conv(
                self.states, 1, self.block_tables, 1, position, row, 5, taps, 6, self.num_taps,
                self.num_columns, out, start,
            ),
        )  # fmt: skip

    def expected(self, position):
        b, c, x = self.rows.astype(np.float64).reshape(len(self.rows), 3, -1).transpose(1, 0, 2)
        history = np.concatenate([np.zeros((self.num_taps - 1, self.num_columns)), b * x])
        window = history[position : position + self.num_taps]
        return c[position] * (self.taps.astype(np.float64) * window).sum(axis=0)


@pytest.mark.parametrize("num_taps", [1, 3, 4, 6])
@pytest.mark.parametrize("num_columns", [1, 16, 40, 64, 70])
def test_short_convolution_continues_across_blocks(num_columns, num_taps):
    sequence = ShortConvolution(num_columns, num_taps)
    for position in range(len(sequence.rows)):
        sequence.store(position)
        np.testing.assert_allclose(sequence.output(position), sequence.expected(position), rtol=1e-5, atol=1e-6)
    untouched = sequence.states[0], sequence.states[1, 1], sequence.states[1, 3, 3]
    assert all((states == CANARY).all() for states in untouched)


def test_short_convolution_does_not_depend_on_when_states_are_stored():
    step_by_step, together = ShortConvolution(40, 3), ShortConvolution(40, 3)
    outputs = []
    for position in range(11):
        step_by_step.store(position)
        outputs.append(step_by_step.output(position))
    for position in range(11):
        together.store(position)
    for position in range(11):
        assert np.array_equal(together.output(position), outputs[position])


def chosen(logits, top_k, *, normalised):
    """Ids and weights of the chosen experts; those of other tokens stay."""
    logits = np.asarray(logits, np.float32)
    ids, weights = np.full(top_k + 4, -5, np.int32), np.full(top_k + 4, CANARY, np.float32)
    row = between(logits, neighbour=NEIGHBOUR)
    choose_experts(row, 5, len(logits), top_k, normalised, ids, weights, 2)
    assert (ids[[0, 1, -2, -1]] == -5).all()
    assert (weights[[0, 1, -2, -1]] == CANARY).all()
    return ids[2:-2], weights[2:-2]


@pytest.mark.parametrize("normalised", [False, True])
@pytest.mark.parametrize(("num_experts", "top_k"), [(4, 1), (8, 2), (60, 4), (128, 8), (64, 20), (5, 5)])
def test_choose_experts_equals_its_formula(num_experts, top_k, normalised):
    logits = numbers(num_experts, scale=2)
    ids, weights = chosen(logits, top_k, normalised=normalised)
    assert np.array_equal(ids, np.argsort(-logits, kind="stable")[:top_k])
    shares = np.exp(logits.astype(np.float64) - logits.max())
    shares /= shares[ids].sum() if normalised else shares.sum()
    np.testing.assert_allclose(weights, shares[ids], rtol=2e-6)


@pytest.mark.parametrize("normalised", [False, True])
@pytest.mark.parametrize(("num_experts", "top_k"), [(4, 1), (8, 2), (60, 4), (64, 20), (5, 5)])
def test_choose_experts_by_sigmoid_equals_its_formula(num_experts, top_k, normalised):
    logits, biases = numbers(num_experts, scale=2), numbers(num_experts, scale=0.3)
    row = np.concatenate([between(logits, neighbour=NEIGHBOUR), np.full(num_experts + 9, CANARY, np.float32)])
    start = len(row) - num_experts - 4
    score_experts(row, 5, num_experts, biases, 0, row, start)
    assert (row[[start - 1, start + num_experts]] == CANARY).all()
    shares = 1 / (1 + np.exp(-logits.astype(np.float64)))
    np.testing.assert_allclose(row[start : start + num_experts], shares + biases, rtol=1e-5, atol=1e-6)
    expected = np.argsort(-row[start : start + num_experts], kind="stable")[:top_k]
    ids, weights = np.full(top_k + 4, -5, np.int32), np.full(top_k + 4, CANARY, np.float32)
    choose_experts_by_sigmoid(row, start, 5, num_experts, top_k, normalised, 2.5, ids, weights, 2)
    assert np.array_equal(ids[2:-2], expected)
    assert (weights[[0, 1, -2, -1]] == CANARY).all()
    total = shares[expected].sum() + 1e-6 if normalised else 1
    np.testing.assert_allclose(weights[2:-2], 2.5 * shares[expected] / total, rtol=2e-6)


@pytest.mark.parametrize("head_dim", [2, 10, 16, 40])
def test_gate_head_equals_its_formula(head_dim):
    head = numbers(head_dim, scale=2)
    row = between(head, neighbour=NEIGHBOUR)
    gate_head(row, 5, head_dim, 0.7)
    np.testing.assert_allclose(row[5 : 5 + head_dim], head / (1 + math.exp(-0.7)), rtol=2e-6)
    assert (row[:5] == NEIGHBOUR).all()
    assert (row[5 + head_dim :] == NEIGHBOUR).all()


def test_attention_temperature_scaling_equals_its_formula():
    found = [growth_of_queries(position, 0.1, 16) for position in (0, 15, 16, 31, 160)]
    assert found[:2] == [1, 1]
    np.testing.assert_allclose(found[2:], 1 + 0.1 * np.log([2, 2, 11]), rtol=2e-7)


def test_equal_experts_are_chosen_by_id():
    ids, weights = chosen([1, 3, 3, 0, 3, 1], 5, normalised=True)
    assert ids.tolist() == [1, 2, 4, 0, 5]
    assert weights[0] == weights[1] == weights[2]
    assert weights[3] == weights[4]
    assert chosen([0.0] * 32, 3, normalised=False)[0].tolist() == [0, 1, 2]
    assert chosen([0.0] * 32, 3, normalised=False)[1].tolist() == [1 / 32] * 3


def test_experts_of_nan_logits_are_valid_and_distinct():
    ids, weights = chosen([1.0, math.nan, 2.0, math.nan], 3, normalised=False)
    assert ids.tolist() == [2, 0, 1]
    assert np.isnan(weights).all()
    ids, weights = chosen([math.nan] * 4, 4, normalised=True)
    assert ids.tolist() == [0, 1, 2, 3]
    assert np.isnan(weights).all()
    assert chosen([-math.inf, 0.0, -math.inf], 2, normalised=True)[0].tolist() == [1, 0]
