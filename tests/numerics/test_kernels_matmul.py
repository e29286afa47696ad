"""Matrix products of every weight format and instruction set against float64, for shapes that fill no tile."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numba import njit

from cactus_actors.protocol.errors import ConfigurationInvalid
from workers.kernels.float32 import Float32Format
from workers.kernels.formats import weight_format
from workers.kernels.instruction_sets import PORTABLE, choose_instruction_set, usable_instruction_sets
from workers.kernels.int8 import Int8Format
from workers.kernels.matrix import WIDTH_MULTIPLE, Matrix, decode_row, encode_row, matmul, num_blocks
from workers.kernels.memory import aligned_zeros, round_up

SHAPES = [(1, 1), (33, 64), (100, 172), (16, 65), (250, 128)]
FORMATS = [Float32Format, Int8Format]
INSTRUCTION_SETS = usable_instruction_sets()

every_format = pytest.mark.parametrize("make_format", FORMATS, ids=lambda made: made.name)
every_kernel = pytest.mark.parametrize("instructions", INSTRUCTION_SETS, ids=lambda chosen: chosen.name)


@njit
def _multiply(weights, matrix, rows, source, num_rows, out, width, accumulate, ranks):
    stride = len(source) // num_rows
    for row in range(num_rows):
        encode_row(weights, rows, 64, num_rows, row, matrix.num_columns, source, row * stride)
    blocks = num_blocks(weights, matrix)
    for rank in range(ranks):
        first, last = blocks * rank // ranks, blocks * (rank + 1) // ranks
        matmul(weights, matrix, rows, 64, num_rows, out, 16, width, accumulate, first, last)


@njit
def _look_up(weights, matrix, index, out, start):
    decode_row(weights, matrix, index, out, start)


def packed(chosen, weights):
    """The arena and the matrix of these weights, behind another matrix."""
    other = np.ones((16, 16), dtype=np.float32)
    start = chosen.num_bytes(*other.shape)
    arena = aligned_zeros((start + chosen.num_bytes(*weights.shape),), np.uint8)
    arena[:] = 171  # what was in memory before must not matter
    chosen.pack(other, arena[:start])
    chosen.pack(weights, arena[start:])
    return chosen.wrap(arena), Matrix(start, *weights.shape)


def multiply(chosen, weights, source, *, out=None, ranks=1):
    """`source @ weights.T`, added to `out` if there is one."""
    (num_rows, num_columns), count = weights.shape, len(source)
    depth, width = round_up(num_columns, WIDTH_MULTIPLE), round_up(num_rows, WIDTH_MULTIPLE)
    padded = aligned_zeros((count, depth), np.float32)
    padded[:, :num_columns] = source
    result = aligned_zeros((16 + count * width,), np.float32)
    rows = aligned_zeros((64 + count * chosen.row_bytes(num_columns),), np.uint8)
    product = result[16:].reshape(count, width)
    if out is not None:
        product[:, :num_rows] = out
    _multiply(
        *packed(chosen, weights), rows, padded.reshape(-1), count, result, width, out is not None, ranks
    )
    assert (result[:16] == 0).all()
    return product[:, :num_rows]


def decoded(chosen, weights):
    """What the packed weights stand for."""
    arena, matrix = packed(chosen, weights)
    width = round_up(matrix.num_columns, WIDTH_MULTIPLE)
    out = np.full((len(weights), width), 5, dtype=np.float32)
    for index in range(len(weights)):
        _look_up(arena, matrix, index, out.reshape(-1), index * width)
    assert (out[:, matrix.num_columns :] == 0).all()
    return out[:, : matrix.num_columns]


def rounded_to_int8(source, group):
    """Rows as the integer formats multiply them: per group round(x / step), step = largest / 127."""
    num_rows, num_columns = source.shape
    groups = np.zeros((num_rows, round_up(num_columns, group)))
    groups[:, :num_columns] = source
    groups = groups.reshape(num_rows, -1, group)
    steps = np.maximum(np.abs(groups).max(axis=2, keepdims=True) / 127, 1e-36)
    return (np.rint(groups / steps) * steps).reshape(num_rows, -1)[:, :num_columns]


@cache
def operands(num_rows, num_columns, count=17):
    generator = np.random.default_rng([num_rows, num_columns])
    weights = generator.standard_normal((num_rows, num_columns), dtype=np.float32)
    return weights, generator.standard_normal((count, num_columns), dtype=np.float32)


def float64_product(source, weights):
    return source.astype(np.float64) @ weights.T.astype(np.float64)


@every_kernel
@every_format
@pytest.mark.parametrize("shape", SHAPES)
def test_a_product_is_within_the_rounding_of_a_sum_of_float32(make_format, instructions, shape):
    chosen = make_format(instructions)
    weights, source = operands(*shape)
    meant = decoded(chosen, weights)
    if chosen.name in ("int8", "int4"):
        source = rounded_to_int8(source, 64 if chosen.name == "int8" else 32)
    # Each of K fused steps rounds by at most 2^-24 of the sum of magnitudes, each factor by as much.
    bound = (shape[1] + 8) * 2.0**-24 * (np.abs(source).astype(np.float64) @ np.abs(meant.T))
    # A quotient so near to a half that float32 and float64 round it to different integers: one step of one input.
    error = np.abs(multiply(chosen, weights, operands(*shape)[1]) - float64_product(source, meant))
    assert (error <= bound).all()


@every_kernel
@every_format
def test_rows_and_blocks_do_not_change_a_bit(make_format, instructions):
    chosen = make_format(instructions)
    weights, source = operands(100, 172)
    together = multiply(chosen, weights, source)
    for count in range(1, len(source) + 1):
        assert (multiply(chosen, weights, source[-count:]) == together[-count:]).all()
    for ranks in (2, 3, 50):
        assert (multiply(chosen, weights, source, ranks=ranks) == together).all()


@every_format
@pytest.mark.parametrize("shape", SHAPES)
def test_instruction_sets_agree_to_the_bit(make_format, shape):
    first, *others = (multiply(make_format(chosen), *operands(*shape)) for chosen in INSTRUCTION_SETS)
    assert others
    for other in others:
        assert (other == first).all()


@every_kernel
@every_format
def test_a_product_can_be_added_to_what_stands_there(make_format, instructions):
    chosen = make_format(instructions)
    weights, source = operands(33, 64)
    before = np.random.default_rng(1).standard_normal((len(source), 33), dtype=np.float32)
    expected = before + multiply(chosen, weights, source)
    assert (multiply(chosen, weights, source, out=before) == expected).all()


@every_kernel
@every_format
def test_a_nan_stays_visible(make_format, instructions):
    chosen = make_format(instructions)
    weights, source = operands(33, 64)
    source = source.copy()
    source[3] = np.nan
    product = multiply(chosen, weights, source)
    assert np.isnan(product[3]).all()
    assert np.isfinite(np.delete(product, 3, axis=0)).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_float32_weights_are_kept(shape):
    weights, _ = operands(*shape)
    assert (decoded(Float32Format(INSTRUCTION_SETS[0]), weights) == weights).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_int8_weights_are_within_half_a_step(shape):
    weights, _ = operands(*shape)
    error = np.abs(decoded(Int8Format(INSTRUCTION_SETS[0]), weights) - weights)
    assert (error <= np.abs(weights).max(axis=1, keepdims=True) / 127 / 2 * 1.0001).all()


def test_zero_and_denormal_groups_of_int8_are_zero():
    weights = np.zeros((3, 64), dtype=np.float32)
    weights[1] = 1e-40
    weights[2] = -2.0
    assert (decoded(Int8Format(PORTABLE), weights) == [[0], [0], [-2]]).all()


@pytest.mark.parametrize("make_format", FORMATS, ids=lambda made: made.name)
def test_a_format_is_found_by_its_name(make_format):
    assert weight_format(make_format.name) == make_format(choose_instruction_set())


def test_other_formats_are_refused_by_name():
    with pytest.raises(ConfigurationInvalid, match="int7"):
        weight_format("int7")


def test_an_unknown_instruction_set_is_refused_with_what_there_is():
    with pytest.raises(ConfigurationInvalid, match="portable"):
        choose_instruction_set({"CACTUS_KERNELS": "sse9"})
    assert choose_instruction_set({"CACTUS_KERNELS": "portable"}) is PORTABLE
