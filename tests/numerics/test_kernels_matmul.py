"""Matrix products of every weight format against float64, for shapes that fill no tile."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from cactus_actors.protocol.errors import ConfigurationInvalid
from workers.kernels.float32 import Float32Format
from workers.kernels.formats import weight_format
from workers.kernels.instruction_sets import PORTABLE, choose_instruction_set
from workers.kernels.int8 import Int8Format
from workers.kernels.matrix import WIDTH_MULTIPLE, decode_weights, encode_row, matmul
from workers.kernels.memory import aligned_zeros, round_up
from workers.weights.quantize import quantize_int8

SHAPES = [(1, 1), (33, 64), (100, 172), (16, 65), (512, 128)]
FORMATS = [Float32Format("portable"), Int8Format(choose_instruction_set()), Int8Format(PORTABLE)]


@njit
def _run(rows, source, matrix, out, accumulate, ranks):
    for row in range(len(source)):
        encode_row(matrix, rows, row, source, row)
    for rank in range(ranks):
        matmul(rows, len(source), matrix, 1, out, accumulate, rank, ranks)


@njit
def _look_up(matrix, out):
    for row in range(len(out)):
        decode_weights(matrix, row, out, row)


def multiply(weight_format, weights, source, *, out=None, ranks=1):
    """`source @ weights.T`, added to `out` if there is one; the weights stand in layer 1 of 2."""
    num_rows, num_columns = weights.shape
    matrix = weight_format.empty_matrix(2, num_rows, num_columns)
    weight_format.fill(matrix, 1, weights)
    padded = aligned_zeros((len(source), round_up(num_columns, WIDTH_MULTIPLE)), np.float32)
    padded[:, :num_columns] = source
    result = aligned_zeros((len(source), round_up(num_rows, WIDTH_MULTIPLE)), np.float32)
    if out is not None:
        result[:, :num_rows] = out
    rows = weight_format.empty_rows(len(source), num_columns)
    _run(rows, padded, matrix, result, out is not None, ranks)
    return result[:, :num_rows]


def operands(num_rows, num_columns, count=15):
    generator = np.random.default_rng([num_rows, num_columns])
    weights = generator.standard_normal((num_rows, num_columns), dtype=np.float32)
    return weights, generator.standard_normal((count, num_columns), dtype=np.float32)


@pytest.mark.parametrize("shape", SHAPES)
def test_float32_is_within_the_rounding_of_a_sum(shape):
    weights, source = operands(*shape)
    exact = source.astype(np.float64) @ weights.T.astype(np.float64)
    # Each of K fused steps rounds by at most 2^-24 of the sum of magnitudes.
    bound = (shape[1] + 1) * 2.0**-24 * (np.abs(source).astype(np.float64) @ np.abs(weights.T))
    assert (np.abs(multiply(FORMATS[0], weights, source) - exact) <= bound).all()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("weight_format", FORMATS[1:], ids=lambda chosen: chosen.kernels)
def test_int8_is_within_half_a_step_of_both_operands(weight_format, shape):
    weights, source = operands(*shape)
    exact = source.astype(np.float64) @ weights.T.astype(np.float64)
    steps_w = np.repeat(quantize_int8(weights)[1], 64, axis=1)[:, : shape[1]].astype(np.float64)
    steps_x = np.repeat(quantize_int8(source)[1], 64, axis=1)[:, : shape[1]].astype(np.float64)
    # |xw - x'w'| <= |x| dw + |w| dx + dx dw with dx, dw half a step; 1 % more for the float32 arithmetic.
    dw, dx = steps_w.T / 2, steps_x / 2
    bound = np.abs(source) @ dw + dx @ np.abs(weights.T) + dx @ dw
    assert (np.abs(multiply(weight_format, weights, source) - exact) <= 1.01 * bound + 1e-6).all()


@pytest.mark.parametrize("weight_format", FORMATS, ids=lambda chosen: f"{chosen.name}-{chosen.kernels}")
def test_rows_and_ranks_do_not_change_a_bit(weight_format):
    weights, source = operands(100, 172)
    together = multiply(weight_format, weights, source)
    for row in range(len(source)):
        assert (multiply(weight_format, weights, source[row : row + 1]) == together[row]).all()
    for ranks in (2, 3, 50):
        assert (multiply(weight_format, weights, source, ranks=ranks) == together).all()


def test_instruction_sets_agree_to_the_bit():
    weights, source = operands(100, 172)
    assert (multiply(FORMATS[1], weights, source) == multiply(FORMATS[2], weights, source)).all()


@pytest.mark.parametrize("weight_format", FORMATS, ids=lambda chosen: f"{chosen.name}-{chosen.kernels}")
def test_a_product_can_be_added_to_what_stands_there(weight_format):
    weights, source = operands(33, 64)
    before = np.random.default_rng(1).standard_normal((len(source), 33), dtype=np.float32)
    expected = before + multiply(weight_format, weights, source)
    assert (multiply(weight_format, weights, source, out=before) == expected).all()


@pytest.mark.parametrize("weight_format", FORMATS, ids=lambda chosen: f"{chosen.name}-{chosen.kernels}")
def test_embeddings_are_the_weights(weight_format):
    weights, _ = operands(40, 72)
    matrix = weight_format.empty_matrix(1, 40, 72)
    weight_format.fill(matrix, 0, weights)
    out = aligned_zeros((40, 128), np.float32)
    _look_up(matrix, out)
    half_step = 0 if weight_format.name == "float32" else np.abs(weights).max() / 127 / 2 * 1.0001
    assert (np.abs(out[:, :72] - weights) <= half_step).all()
    assert (out[:, 72:] == 0).all()


@pytest.mark.parametrize("weight_format", FORMATS, ids=lambda chosen: f"{chosen.name}-{chosen.kernels}")
def test_a_nan_stays_visible(weight_format):
    weights, source = operands(33, 64)
    source[3] = np.nan
    product = multiply(weight_format, weights, source)
    assert np.isnan(product[3]).all()
    assert np.isfinite(np.delete(product, 3, axis=0)).all()


def test_zero_and_denormal_groups_quantise_to_zero():
    weights = np.zeros((3, 64), dtype=np.float32)
    weights[1] = 1e-40
    weights[2] = -2.0
    values, scales = quantize_int8(weights)
    assert (values[:2] == 0).all()
    assert (scales[:2] == 0).all()
    assert (values[2] == -127).all()


@pytest.mark.parametrize("name", ["bfloat16", "int4", "int7"])
def test_other_formats_are_refused_by_name(name):
    with pytest.raises(ConfigurationInvalid, match=name):
        weight_format(name)


def test_an_unknown_instruction_set_is_refused_with_what_there_is():
    with pytest.raises(ConfigurationInvalid, match="portable"):
        choose_instruction_set({"CACTUS_KERNELS": "sse9"})
    assert choose_instruction_set({"CACTUS_KERNELS": "portable"}) is PORTABLE
