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
from cactus_actors.workers.kernels.instruction_sets import (
    NEON_DOTPROD,
    NEON_I8MM,
    PORTABLE,
    InstructionSet,
    choose_instruction_set,
)
from cactus_actors.workers.kernels.weight_formats import FORMATS
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
    directory = compiled(name, instructions)
    linked = directory / "product"
    # What numba would call to raise an exception stays undefined.
    options = ["-static", "-O1", "-Wl,--unresolved-symbols=ignore-all"]
    sources = [SOURCES / "product.c", directory / "product.o"]
    subprocess.run([LINKER, *options, *sources, "-o", linked], check=True, timeout=600)
    for shape in SHAPES:
        for count in (1, 2, 3, 35):
            weights, source = operands(*shape, count)
            actual = _emulated(linked, CPUS[instructions], FORMATS[name][PORTABLE], weights, source)
            assert (actual == multiply(FORMATS[name][PORTABLE], weights, source)).all(), (shape, count)


def _emulated(
    program: Path, cpu: str, chosen: Any, weights: NDArray[np.float32], source: NDArray[np.float32]
) -> NDArray[np.float32]:
    (outputs, inputs), count = weights.shape, len(source)
    packed = aligned_zeros((chosen.num_bytes(outputs, inputs),), np.uint8)
    chosen.pack(weights, packed)
    padded = np.zeros((count, round_up(inputs, 64)), np.float32)
    padded[:, :inputs] = source
    files = [program.with_name(name) for name in ("weights", "source", "out")]
    files[0].write_bytes(packed.tobytes())
    files[1].write_bytes(padded.tobytes())
    numbers = [str(number) for number in (outputs, inputs, count)]
    subprocess.run([EMULATOR, "-cpu", cpu, program, *files, *numbers], check=True, timeout=600)
    return np.fromfile(files[2], np.float32).reshape(count, -1)[:, :outputs]
