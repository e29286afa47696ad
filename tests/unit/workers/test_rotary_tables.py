"""Rotary tables: their definition, every scaling against the reference, and rows made when needed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cactus_actors.protocol.errors import ModelFileInvalid
from cactus_actors.workers.spec.rope_scaling import (
    FactorsScaling,
    LinearScaling,
    Llama3Scaling,
    LongRopeScaling,
    YarnScaling,
)
from cactus_actors.workers.spec.rotary import ROWS_AT_ONCE, Rope, RotaryTables, rotary_rows

LLAMA3 = Llama3Scaling(factor=32.0, low_freq_factor=1.0, high_freq_factor=4.0, original_context=8192)


def long_rope(**changed):
    given = {"factor": 32.0, "original_context": 4096} | changed
    return LongRopeScaling(
        short_factors=tuple(1 + 0.02 * pair for pair in range(48)),
        long_factors=tuple(1 + 0.9 * pair for pair in range(48)),
        **given,
    )


# From transformers 5.23 with torch 2.13: ROPE_INIT_FUNCTIONS[rope_type] of a LlamaConfig with this head_dim
# and these rope_parameters, then cosines and sines of torch.outer(positions.float(), frequencies), times its
# attention factor. Frequencies of pairs 1, dim / 8, dim / 4 and dim / 2 - 3; the attention factor, the cosine
# of pair dim / 8 and the sine of pair dim / 4 at position 4095.
REFERENCE = {
    "default": (
        Rope(10000.0, 64),
        [0.7498942017555237, 0.10000000149011612, 0.009999999776482582, 0.0002371373848291114],
        (1.0, 0.4598633348941803, -0.1090787947177887),
    ),
    "linear": (
        Rope(10000.0, 128, LinearScaling(4.0)),
        [0.21649108827114105, 0.02500000037252903, 0.0024999999441206455, 3.849816130241379e-05],
        (1.0, -0.2698514461517334, -0.7261614799499512),
    ),
    "llama3": (
        Rope(500000.0, 64, LLAMA3),
        [0.663601279258728, 0.03760603070259094, 0.000429556705057621, 2.1387423032592778e-07],
        (1.0, -0.9982806444168091, 0.9823353886604309),
    ),
    "yarn": (
        Rope(1e6, 128, YarnScaling(factor=4.0, original_context=32768)),
        [0.8058422207832336, 0.03162277862429619, 0.0006029411451891065, 4.777382400789065e-07],
        (1.138629436111989, -0.8781734108924866, 0.709345281124115),
    ),
    "yarn of DeepSeek": (
        Rope(10000.0, 64, YarnScaling(factor=40.0, original_context=4096, mscale=1.0, mscale_all_dim=0.707)),
        [0.7498942017555237, 0.10000000149011612, 0.005500000435858965, 5.928434347879374e-06],
        (1.0857263992561355, 0.4992857575416565, -0.5501372814178467),
    ),
    "yarn, not truncated": (
        Rope(150000.0, 64, YarnScaling(factor=32.0, original_context=4096, truncate=False)),
        [0.6890442967414856, 0.05081327259540558, 0.0004564839182421565, 6.368209142237902e-07],
        (1.3465735902799727, 0.9987151026725769, 1.2870242595672607),
    ),
    "yarn, all given": (
        Rope(
            10000.0,
            96,
            YarnScaling(factor=16.0, original_context=4096, attention_factor=0.9, beta_fast=20.0, beta_slow=2.0),
        ),
        [0.825404167175293, 0.10000000149011612, 0.005673076957464218, 1.1114246262877714e-05],
        (0.9, 0.4138769805431366, -0.8512354493141174),
    ),
    "longrope, short": (
        Rope(10000.0, 96, long_rope(max_context=4096)),
        [0.8092197775840759, 0.08064516633749008, 0.006756756920367479, 9.35936623136513e-05],
        (1.1902380714238083, -1.1076499223709106, 0.6773669719696045),
    ),
    "longrope, long": (
        Rope(10000.0, 96, long_rope()),
        [0.4344232678413391, 0.008474576286971569, 0.00044247787445783615, 4.285010618332308e-06],
        (1.1902380714238083, -1.1775977611541748, 1.1557972431182861),
    ),
}


def test_an_unscaled_table_equals_its_definition():
    cosines, sines = rotary_rows(Rope(10000.0, 32), 0, 64)
    angles = np.outer(np.arange(64), 10000.0 ** -(np.arange(0, 32, 2) / 32))
    np.testing.assert_allclose(cosines, np.cos(angles), rtol=0, atol=1e-5)
    np.testing.assert_allclose(sines, np.sin(angles), rtol=0, atol=1e-5)
    assert cosines.dtype == sines.dtype == np.float32


@pytest.mark.parametrize("name", REFERENCE)
def test_frequencies_and_tables_equal_the_reference(name):
    rope, frequencies, (amplitude, cosine, sine) = REFERENCE[name]
    dim = rope.rotary_dim
    ours = rope.frequencies()
    assert ours.dtype == np.float32
    np.testing.assert_allclose(ours[[1, dim // 8, dim // 4, dim // 2 - 3]], frequencies, rtol=2e-7)
    assert rope.amplitude == pytest.approx(amplitude, rel=1e-12)
    cosines, sines = rotary_rows(rope, 4095, 4096)
    assert cosines[0, dim // 8] == pytest.approx(cosine, abs=1e-5)
    assert sines[0, dim // 4] == pytest.approx(sine, abs=1e-5)


def test_llama3_scaling_in_gguf_factors_gives_the_same_tables():
    plain, scaled = Rope(500000.0, 64), Rope(500000.0, 64, LLAMA3)
    factors = tuple(float(factor) for factor in plain.frequencies() / scaled.frequencies())
    assert factors[0] == 1.0
    assert factors[-1] == 32.0
    from_factors = Rope(500000.0, 64, FactorsScaling(factors)).frequencies()
    np.testing.assert_allclose(from_factors, scaled.frequencies(), rtol=2e-7)


def test_longrope_without_a_longer_context_does_not_sharpen_attention():
    assert Rope(1e4, 96, long_rope(factor=1.0)).amplitude == 1.0
    assert Rope(1e4, 96, long_rope(attention_factor=1.25)).amplitude == 1.25


def test_longrope_has_the_factors_of_the_served_context():
    short, long = REFERENCE["longrope, short"][0], REFERENCE["longrope, long"][0]
    assert long.served_for(4096) == short
    assert np.array_equal(long.served_for(4097).frequencies(), long.frequencies())
    assert Rope(10000.0, 64).served_for(16) == Rope(10000.0, 64)


def test_rows_do_not_depend_on_other_rows():
    rope = Rope(500000.0, 64, LLAMA3)
    together = rotary_rows(rope, 0, 100)
    for first, last in ((0, 1), (37, 38), (5, 98)):
        for table, part in zip(together, rotary_rows(rope, first, last), strict=True):
            assert np.array_equal(table[first:last], part)


def test_tables_are_filled_on_demand_without_reallocation():
    ropes = (Rope(10000.0, 8), Rope(1e6, 12, LinearScaling(8.0)))
    max_positions = 2 * ROWS_AT_ONCE + 10
    tables = RotaryTables(ropes, max_positions)
    assert tables.starts.tolist() == [0, 4 * max_positions]
    cosines = [part.reshape(max_positions, -1) for part in np.split(tables.cosines, tables.starts[1:])]
    sines = [part.reshape(max_positions, -1) for part in np.split(tables.sines, tables.starts[1:])]
    tables.cover(1)
    assert tables.num_covered == ROWS_AT_ONCE
    assert not any(part[ROWS_AT_ONCE:].any() for part in cosines)
    tables.cover(ROWS_AT_ONCE + 1)
    tables.cover(max_positions)
    assert tables.num_covered == max_positions
    for index, rope in enumerate(ropes):
        expected_cosines, expected_sines = rotary_rows(rope, 0, max_positions)
        assert np.array_equal(cosines[index], expected_cosines)
        assert np.array_equal(sines[index], expected_sines)


def test_without_rotation_there_are_no_tables():
    tables = RotaryTables((), 4096)
    tables.cover(4096)
    assert len(tables.cosines) == len(tables.sines) == 0


@pytest.mark.parametrize(
    "make",
    [
        lambda: Rope(1.0, 64),
        lambda: Rope(math.inf, 64),
        lambda: Rope(10000.0, 63),
        lambda: Rope(10000.0, 0),
        lambda: LinearScaling(0.0),
        lambda: LinearScaling(math.nan),
        lambda: FactorsScaling((1.0, -1.0)),
        lambda: Llama3Scaling(factor=8.0, low_freq_factor=4.0, high_freq_factor=4.0, original_context=8192),
        lambda: YarnScaling(factor=4.0, original_context=0),
        lambda: long_rope(original_context=1),
        lambda: Rope(10000.0, 64, FactorsScaling((1.0,) * 31)).frequencies(),
        lambda: Rope(10000.0, 64, long_rope()).frequencies(),
    ],
)
def test_invalid_rope_parameters_are_refused(make):
    with pytest.raises(ModelFileInvalid):
        make()
