"""Products of every weight format and instruction set against float64, for shapes that fill no tile."""

from __future__ import annotations

import numpy as np
import pytest

from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.workers.kernels.aligned_memory import round_up
from cactus_actors.workers.kernels.instruction_sets import PORTABLE, choose_instruction_set, usable_instruction_sets
from cactus_actors.workers.kernels.int4 import LEVELS
from cactus_actors.workers.kernels.matrix import WIDTH_MULTIPLE, decode_row
from cactus_actors.workers.kernels.mxfp4 import MXFP4
from cactus_actors.workers.kernels.weight_formats import FORMATS, FORMATS_OF_MXFP4, weight_format
from tests.goldens.mxfp4_blocks import dequantised, quantised
from tests.support.models.for_python import kept_njit
from tests.support.models.products import multiply, operands, packed

SHAPES = [(1, 1), (33, 64), (100, 172), (16, 65), (250, 128), (20, 500)]
INSTRUCTION_SETS = usable_instruction_sets()


def instruction_sets_of(name):
    """Those that differ: products of floats depend on the shape of tiles only."""
    of_shapes = {(chosen.max_height, chosen.max_width): chosen for chosen in INSTRUCTION_SETS}
    match name:
        case "int8":
            return INSTRUCTION_SETS
        case "int4":  # without AMX
            return tuple(chosen for chosen in INSTRUCTION_SETS if not chosen.amx_rows)
        case _:
            return tuple(of_shapes.values())


def is_slow(name, chosen):
    """True for a kernel of int8 whose instructions int4 tests, too: compiling it takes seconds."""
    return name == "int8" and chosen not in (INSTRUCTION_SETS[0], PORTABLE)


KERNELS = [
    pytest.param(name, chosen, id=f"{name}-{chosen.name}", marks=pytest.mark.slow if is_slow(name, chosen) else ())
    for name in FORMATS
    for chosen in instruction_sets_of(name)
]

every_format = pytest.mark.parametrize("name", FORMATS)
every_kernel = pytest.mark.parametrize(("name", "instructions"), KERNELS)


@kept_njit()
def _look_up(weights, matrix, index, out, start):
    decode_row(weights, matrix, index, out, start)


def decoded(chosen, weights):
    """The values that the packed weights represent."""
    arena, matrix = packed(chosen, weights)
    width = round_up(matrix.num_columns, WIDTH_MULTIPLE)
    out = np.full((len(weights), width), 5, dtype=np.float32)
    for index in range(len(weights)):
        _look_up(arena, matrix, index, out.reshape(-1), index * width)
    assert (out[:, matrix.num_columns :] == 0).all()
    return out[:, : matrix.num_columns]


def rounded_to_int8(source):
    """Rows as the integer formats multiply them: round(x / step) in groups of 64, step = largest / 127."""
    num_rows, num_columns = source.shape
    groups = np.zeros((num_rows, round_up(num_columns, 64)), np.float32)
    groups[:, :num_columns] = source
    groups = groups.reshape(num_rows, -1, 64)
    largest = np.maximum(np.abs(groups).max(axis=2, keepdims=True), np.float32(1e-36))
    rounded = np.rint(groups * (np.float32(127) / largest)).astype(np.float64) * (largest / 127)
    return rounded.reshape(num_rows, -1)[:, :num_columns]


@every_kernel
@pytest.mark.parametrize("shape", SHAPES)
def test_a_product_is_within_the_rounding_error_of_a_float32_sum(name, instructions, shape):
    chosen = FORMATS[name][instructions]
    weights, source = operands(*shape)
    product, meant = multiply(chosen, weights, source), decoded(chosen, weights).astype(np.float64)
    inputs = rounded_to_int8(source) if name in ("int8", "int4") else source.astype(np.float64)
    # Each of K fused steps rounds by at most 2^-24 of the sum of magnitudes, scales add a few roundings more.
    bound = (shape[1] + 8) * 2.0**-24 * (np.abs(inputs) @ np.abs(meant.T))
    assert (np.abs(product - inputs @ meant.T) <= bound).all()


@every_kernel
def test_rows_and_blocks_do_not_change_a_bit(name, instructions):
    chosen = FORMATS[name][instructions]
    weights, source = operands(100, 172)
    together = multiply(chosen, weights, source)
    for count in range(1, len(source) + 1):
        assert (multiply(chosen, weights, source[-count:]) == together[-count:]).all()
    for ranks in (2, 3, 50):
        assert (multiply(chosen, weights, source, ranks=ranks) == together).all()


@pytest.mark.parametrize(("name", "instructions"), [one for one in KERNELS if one.values[1] is not PORTABLE])
@pytest.mark.parametrize("shape", SHAPES)
def test_instruction_sets_agree_to_the_bit(name, instructions, shape):
    product, portable = (multiply(FORMATS[name][chosen], *operands(*shape)) for chosen in (instructions, PORTABLE))
    assert (product == portable).all()


@every_kernel
def test_a_product_can_be_added_to_the_output(name, instructions):
    chosen = FORMATS[name][instructions]
    weights, source = operands(33, 64)
    before = np.random.default_rng(1).standard_normal((len(source), 33), dtype=np.float32)
    expected = before + multiply(chosen, weights, source)
    assert (multiply(chosen, weights, source, out=before) == expected).all()


@every_kernel
def test_a_nan_stays_nan(name, instructions):
    chosen = FORMATS[name][instructions]
    weights, source = operands(33, 64)
    source = source.copy()
    source[3] = np.nan
    product = multiply(chosen, weights, source)
    assert np.isnan(product[3]).all()
    assert np.isfinite(np.delete(product, 3, axis=0)).all()


@every_format
@pytest.mark.parametrize("shape", SHAPES)
def test_quantized_weights_differ_by_at_most_half_a_step(name, shape):
    weights, _ = operands(*shape)
    error = np.abs(decoded(FORMATS[name][PORTABLE], weights) - weights)
    largest = np.abs(weights).max(axis=1, keepdims=True)
    match name:
        case "float32":
            assert (error == 0).all()
        case "bfloat16":
            assert (error <= np.abs(weights) * 2.0**-8).all()
        case "int8":
            assert (error <= largest / 127 / 2 * 1.0001).all()
        case "int4":  # scales may clip the largest weights to represent the others better
            assert (error <= largest * 0.35).all()


@every_kernel
def test_columns_of_a_row_can_be_encoded_separately(name, instructions):
    chosen = FORMATS[name][instructions]
    weights, source = operands(100, 172)
    assert (multiply(chosen, weights, source, pieces=3) == multiply(chosen, weights, source)).all()


def test_bfloat16_weights_are_rounded_to_the_nearest_even():
    weights = np.array([[1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-20, -1 - 2**-9]], dtype=np.float32)
    kept = decoded(FORMATS["bfloat16"][PORTABLE], weights)
    assert (kept == [[1, 1 + 2**-6, 1 + 2**-7, -1]]).all()


def test_int4_scales_are_chosen_for_the_least_squared_error():
    weights, _ = operands(64, 512)
    groups, levels = weights.reshape(64, -1, 16), np.array(LEVELS)
    peaks = np.take_along_axis(groups, np.abs(groups).argmax(axis=2)[..., None], axis=2)
    scales = peaks / levels[0]
    plain = levels[np.abs(groups[..., None] / scales[..., None] - levels).argmin(axis=3)] * scales
    chosen = decoded(FORMATS["int4"][PORTABLE], weights).reshape(groups.shape)
    assert ((chosen - groups) ** 2).sum() < 0.9 * ((plain - groups) ** 2).sum()


def test_int4_represents_its_own_levels_exactly():
    levels = np.array(LEVELS, dtype=np.float32)
    scales = np.array([[100, -57, 0, 31], [-100, 100, 90, 80]], dtype=np.float32)
    weights = (scales[:, :, None] * levels).reshape(2, 64) * np.float32(1e20)
    kept = decoded(FORMATS["int4"][PORTABLE], weights)
    np.testing.assert_allclose(kept, weights, rtol=1e-6, atol=0)


def in_mxfp4(num_rows, num_columns, seed=0):
    """Weights that MXFP4 has, with a scale of its own for each 32 inputs."""
    generator = np.random.default_rng([seed, num_rows, num_columns])
    weights = generator.standard_normal((num_rows, num_columns), dtype=np.float32)
    weights.reshape(-1, 32)[:] *= generator.choice([1, 0.1, 1e-3, 1e3, 0], (weights.size // 32, 1))
    return dequantised(*quantised(weights))


@pytest.mark.parametrize("name", ["float32", "bfloat16", "int4"])
def test_weights_of_mxfp4_are_kept_exactly(name):
    weights = in_mxfp4(35, 96)
    assert (decoded(FORMATS_OF_MXFP4[name][PORTABLE], weights) == weights).all()


def test_int8_keeps_mxfp4_weights_exactly_if_neighbouring_scales_are_close():
    plain = np.random.default_rng(0).standard_normal((33, 128), dtype=np.float32)
    blocks, scales = quantised(plain)
    low, high = 100, 103
    scales[:, ::2], scales[:, 1::2] = low, np.random.default_rng(1).integers(low, high + 1, scales[:, 1::2].shape)
    weights = dequantised(blocks, scales)
    assert (decoded(FORMATS_OF_MXFP4["int8"][PORTABLE], weights) == weights).all()
    assert not (decoded(FORMATS["int8"][PORTABLE], weights) == weights).all()
    scales[:, 1::2] = high + 1
    weights = dequantised(blocks, scales)
    error = np.abs(decoded(FORMATS_OF_MXFP4["int8"][PORTABLE], weights) - weights).reshape(33, -1, 2, 32)
    assert (error[:, :, 1] == 0).all(), "the larger block"
    assert 0 < error[:, :, 0].max() <= 2.0 ** (high + 1 - 127 - 5), "half a step of the smaller one"


@pytest.mark.parametrize(
    "instructions",
    [  # the others multiply as for int8, and look values up as for int4
        pytest.param(chosen, id=chosen.name, marks=() if chosen is INSTRUCTION_SETS[0] else pytest.mark.slow)
        for chosen in INSTRUCTION_SETS
    ],
)
def test_products_with_mxfp4_equal_products_with_its_values(instructions):
    weights, source = in_mxfp4(100, 160), operands(1, 160)[1]
    product, portable = (multiply(MXFP4[chosen], weights, source) for chosen in (instructions, PORTABLE))
    bound = (160 + 8) * 2.0**-24 * (np.abs(rounded_to_int8(source)) @ np.abs(weights.T).astype(np.float64))
    assert (np.abs(product - rounded_to_int8(source) @ weights.T.astype(np.float64)) <= bound).all()
    assert (portable == product).all()
    assert (multiply(MXFP4[PORTABLE], weights, source[-3:], ranks=3) == product[-3:]).all()


@pytest.mark.parametrize("name", ["int8", "int4"])
def test_zero_and_denormal_groups_are_encoded_as_zero(name):
    weights = np.zeros((3, 64), dtype=np.float32)
    weights[1] = 1e-40
    weights[2] = -2.0
    kept = decoded(FORMATS[name][PORTABLE], weights)
    assert (kept[:2] == 0).all()
    assert np.allclose(kept[2], -2.0, rtol=2**-10)


@every_format
def test_a_format_is_found_by_its_name(name):
    assert weight_format(name) is FORMATS[name][choose_instruction_set()]
    assert weight_format(name, is_mxfp4=True).name == name


def test_unknown_formats_are_refused():
    with pytest.raises(ConfigurationInvalid, match="int7"):
        weight_format("int7")


def test_an_unknown_instruction_set_is_refused_with_the_known_ones():
    with pytest.raises(ConfigurationInvalid, match="portable"):
        choose_instruction_set({"CACTUS_KERNELS": "sse9"})
    assert choose_instruction_set({"CACTUS_KERNELS": "portable"}) is PORTABLE
