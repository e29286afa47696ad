"""Kernels of encoders against float64, and the memory beside a row, which they neither use nor touch."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cactus_actors.workers.kernels import encoder_kernels as kernels
from cactus_actors.workers.kernels.aligned_memory import round_up
from cactus_actors.workers.kernels.matrix import WIDTH_MULTIPLE
from tests.support.models.for_python import for_python

layer_norm = for_python(kernels.layer_norm)
activate_gelu = for_python(kernels.activate_gelu)
activate_tanh_gelu = for_python(kernels.activate_tanh_gelu)
merge_rows = for_python(kernels.merge_rows)

WIDTHS = [1, 15, 16, 17, 64, 72, 200]
CANARY = np.float32(-7.25)


def numbers(count, seed=0):
    return np.random.default_rng([seed, count]).standard_normal(count).astype(np.float32)


@pytest.mark.parametrize("width", WIDTHS)
def test_layer_norm(width):
    padded_width, start = round_up(width, WIDTH_MULTIPLE), 3
    values = 3 * numbers(width) + 5
    parameters = np.zeros(2 * padded_width, np.float32)
    parameters[:width], parameters[padded_width : padded_width + width] = numbers(width, 1), numbers(width, 2)
    source = np.full(start + width + 40, CANARY, np.float32)
    source[start : start + width] = values
    outs = []
    for slices in ([(0, padded_width)], [(at, at + 64) for at in range(0, padded_width, 64)]):
        out = np.full(start + padded_width + 20, CANARY, np.float32)
        for first, last in slices:
            layer_norm(source, start, parameters, 0, padded_width, width, 1e-5, out, start, first, last)
        outs.append(out)
    assert np.array_equal(*outs)
    exact = values.astype(np.float64)
    exact = (exact - exact.mean()) / np.sqrt(exact.var() + 1e-5)
    exact = exact * parameters[:width] + parameters[padded_width : padded_width + width]
    assert np.abs(outs[0][start : start + width] - exact).max() < 1e-5
    assert not outs[0][start + width : start + padded_width].any()
    assert (outs[0][:start] == CANARY).all()
    assert (outs[0][start + padded_width :] == CANARY).all()


def test_gelu_without_a_gate():
    values = np.concatenate([np.linspace(-12, 12, 4001), [0.0, -0.0, 1e-30, 40.0, -40.0, 1e4]]).astype(np.float32)
    exact = values.astype(np.float64)
    erf = np.array([math.erf(x / math.sqrt(2)) for x in exact])
    tanh = np.tanh(math.sqrt(2 / math.pi) * (exact + 0.044715 * exact**3))
    for activate, inner in ((activate_gelu, erf), (activate_tanh_gelu, tanh)):
        row = np.full(len(values) + 12, CANARY, np.float32)
        row[5 : 5 + len(values)] = values
        activate(row, 5, len(values))
        expected = 0.5 * exact * (1 + inner)
        assert np.abs(row[5 : 5 + len(values)] - expected).max() <= 3e-7 * np.abs(values).max() / 1e4 + 2e-6
        assert (row[:5] == CANARY).all()
        assert (row[5 + len(values) :] == CANARY).all()


@pytest.mark.parametrize("is_mean", [False, True])
@pytest.mark.parametrize(("count", "width"), [(1, 5), (4, 16), (9, 20), (16, 64)])
def test_rows_are_merged_side_by_side_or_to_their_mean(count, width, is_mean):
    row_width = round_up(width, WIDTH_MULTIPLE)
    values = np.full(count * row_width + 1000 * count, CANARY, np.float32)
    rows = numbers(count * width).reshape(count, width)
    values[: count * row_width].reshape(count, row_width)[:, :width] = rows
    expected = rows.mean(axis=0) if is_mean else rows.reshape(-1)
    target, target_width = count * row_width + 7, round_up(expected.size, WIDTH_MULTIPLE)
    merge_rows(values, 0, row_width, count, width, is_mean, target, target_width)
    assert np.abs(values[target : target + expected.size] - expected).max() < 1e-6
    assert not values[target + expected.size : target + target_width].any()
    assert values[target - 1] == values[target + target_width] == CANARY
