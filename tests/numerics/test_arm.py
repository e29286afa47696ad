"""Kernels for ARM: chosen by the features of the CPU, compiled on any machine, run by QEMU where it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from cactus_actors.workers.kernels import instruction_sets
from cactus_actors.workers.kernels.aligned_memory import aligned_zeros, round_up
from cactus_actors.workers.kernels.arm_features import int8_features
from cactus_actors.workers.kernels.attention_items import attention_scratch
from cactus_actors.workers.kernels.cache_formats import INT8_CACHES
from cactus_actors.workers.kernels.instruction_sets import (
    NEON_DOTPROD,
    NEON_I8MM,
    PORTABLE,
    InstructionSet,
    choose_instruction_set,
)
from cactus_actors.workers.kernels.weight_formats import FORMATS
from tests.support.arm.attention import (
    BLOCK_SIZE,
    BYTES_OF_POSITION,
    HEAD_DIM,
    NUM_QUERIES,
    OUT_WIDTH,
    SOURCE_WIDTH,
    attend_to_all,
)
from tests.support.models.for_python import kept_njit
from tests.support.models.products import multiply, operands
from tests.support.paths import ROOT

SOURCES = ROOT / "tests/support/arm"
LINKER, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64"
FEATURES = {NEON_I8MM: "+neon,+fp-armv8,+dotprod,+i8mm", NEON_DOTPROD: "+neon,+fp-armv8,+dotprod"}
CPUS = {NEON_I8MM: "max", NEON_DOTPROD: "neoverse-n1"}
"""QEMU's names of CPUs; the latter has no `smmla`."""

SHAPES = [(1, 1), (33, 64), (100, 172), (20, 500)]

needs_emulator = pytest.mark.skipif(
    not (shutil.which(LINKER) and shutil.which(EMULATOR)), reason=f"needs {EMULATOR} and {LINKER}"
)
every_product = pytest.mark.parametrize(
    ("name", "instructions"),
    [
        pytest.param("int8", NEON_I8MM, id="int8-neon-i8mm"),
        *(
            pytest.param(name, chosen, id=f"{name}-{chosen.name}", marks=pytest.mark.slow)
            for name, chosen in (
                ("int4", NEON_DOTPROD),
                ("int8", NEON_DOTPROD),
                ("int4", NEON_I8MM),
                ("float32", NEON_I8MM),
                ("bfloat16", NEON_I8MM),
            )
        ),
    ],
)


@pytest.mark.parametrize(
    ("features", "best"),
    [({"neon", "dotprod", "i8mm"}, NEON_I8MM), ({"neon", "dotprod"}, NEON_DOTPROD), ({"neon"}, PORTABLE)],
)
def test_the_best_instructions_of_an_arm_cpu_are_used(
    monkeypatch: pytest.MonkeyPatch, features: set[str], best: InstructionSet
) -> None:
    monkeypatch.setattr(instruction_sets, "cpu_features", lambda: frozenset(features))
    assert choose_instruction_set({}) is best


@pytest.mark.skipif(os.uname().machine == "aarch64", reason="this CPU may have some")
def test_other_cpus_have_no_features_of_arm() -> None:
    assert int8_features() == frozenset()


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """(name of a format, instruction set) -> the directory of its product's code."""

    @cache
    def compile_product(name: str, chosen: InstructionSet) -> Path:
        directory = tmp_path_factory.mktemp("arm")
        module = [sys.executable, "-m", "tests.support.arm.cross_compiled"]
        subprocess.run([*module, name, chosen.name, FEATURES[chosen], directory], cwd=ROOT, check=True, timeout=600)
        return directory

    return compile_product


@every_product
def test_a_product_is_compiled_for_arm_on_any_machine(compiled: Any, name: str, instructions: InstructionSet) -> None:
    code = (compiled(name, instructions) / "product.s").read_text()
    is_integer = name in ("int8", "int4")
    assert ("sdot\t" in code) == is_integer
    assert ("smmla\t" in code) == (is_integer and instructions is NEON_I8MM)
    assert "NRT_" not in code


@needs_emulator
@every_product
def test_a_product_of_an_arm_cpu_has_the_bits_of_this_one(
    compiled: Any, name: str, instructions: InstructionSet
) -> None:
    linked = _linked(compiled(name, instructions))
    for shape in SHAPES:
        for count in (1, 2, 3, 35):
            weights, source = operands(*shape, count)
            actual = _emulated(linked, CPUS[instructions], FORMATS[name][PORTABLE], weights, source)
            assert (actual == multiply(FORMATS[name][PORTABLE], weights, source)).all(), (shape, count)


BYTES_OF_BLOCK = BYTES_OF_POSITION * BLOCK_SIZE


@kept_njit()
def _attend_to_all(*arguments: Any) -> None:
    attend_to_all(*arguments)


@needs_emulator
def test_attention_with_integers_of_an_arm_cpu_has_the_bits_of_this_one(tmp_path: Path) -> None:
    module = [sys.executable, "-m", "tests.support.arm.cross_attention"]
    subprocess.run([*module, NEON_DOTPROD.name, FEATURES[NEON_DOTPROD], tmp_path], cwd=ROOT, check=True, timeout=600)
    assert "sdot\t" in (tmp_path / "product.s").read_text()
    linked = _linked(tmp_path)
    scratch = aligned_zeros((attention_scratch(HEAD_DIM),), np.float32)
    for num_rows in (1, 17, 150):
        generator, num_blocks = np.random.default_rng(num_rows), -(-num_rows // BLOCK_SIZE)
        table, ends = generator.permutation(num_blocks).astype(np.int32), np.arange(num_rows, dtype=np.int32)
        source = generator.standard_normal(num_rows * SOURCE_WIDTH, np.float32)
        numbers, rows = np.concatenate([table, ends]), np.concatenate([source, np.zeros_like(scratch)])
        actual = _output_of(linked, CPUS[NEON_DOTPROD], numbers, rows, (OUT_WIDTH, BYTES_OF_BLOCK, num_rows))
        keys = aligned_zeros((BYTES_OF_POSITION, num_blocks, BLOCK_SIZE), np.uint8)
        states, slots = np.zeros((0, num_blocks, BLOCK_SIZE, 16), np.float32), np.zeros((0, 0), np.float32)
        cache = INT8_CACHES[choose_instruction_set()](keys, states, slots)
        expected = aligned_zeros((num_rows, OUT_WIDTH), np.float32)
        _attend_to_all(cache, table[None], ends, 0, source, scratch, 0, expected.reshape(-1), num_rows)
        assert (actual[:, :NUM_QUERIES] == expected[:, :NUM_QUERIES]).all(), num_rows
        assert (expected[:, :NUM_QUERIES] != 0).mean() > 0.9


def _linked(directory: Path) -> Path:
    """A program of `product.o` in a directory."""
    linked = directory / "product"
    # What numba would call to raise an exception stays undefined.
    options = ["-static", "-O1", "-Wl,--unresolved-symbols=ignore-all"]
    sources = [SOURCES / "product.c", directory / "product.o"]
    subprocess.run([LINKER, *options, *sources, "-o", linked], check=True, timeout=600)
    return linked


def _emulated(
    program: Path, cpu: str, chosen: Any, weights: NDArray[np.float32], source: NDArray[np.float32]
) -> NDArray[np.float32]:
    (outputs, inputs), count = weights.shape, len(source)
    packed = aligned_zeros((chosen.num_bytes(outputs, inputs),), np.uint8)
    chosen.pack(weights, packed)
    padded = np.zeros((count, round_up(inputs, 64)), np.float32)
    padded[:, :inputs] = source
    return _output_of(program, cpu, packed, padded, (outputs, inputs, count))[:, :outputs]


def _output_of(
    program: Path, cpu: str, first: NDArray[Any], source: NDArray[np.float32], numbers: tuple[int, int, int]
) -> NDArray[np.float32]:
    """What `product.c` writes, in rows."""
    files = [program.with_name(name) for name in ("first", "source", "out")]
    files[0].write_bytes(first.tobytes())
    files[1].write_bytes(source.tobytes())
    subprocess.run([EMULATOR, "-cpu", cpu, program, *files, *map(str, numbers)], check=True, timeout=600)
    return np.fromfile(files[2], np.float32).reshape(numbers[-1], -1)
