"""The same bits on other processors: their code is compiled here, and run as far as this one can.

A processor is more than an instruction set for int8: LLVM chooses the width of vectors for it, everywhere.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from cactus_actors.workers.kernels.instruction_sets import ENVIRONMENT_VARIABLE, cpu_features, usable_instruction_sets
from tests.support.paths import ROOT

OLD_FEATURES = {"sse", "sse2", "sse3", "ssse3", "sse4.1", "sse4.2", "avx", "avx2", "fma", "f16c", "bmi", "bmi2"}
WITHOUT_AVX512 = OLD_FEATURES | {"lzcnt", "popcnt", "movbe", "cx16", "64bit", "cmov", "mmx", "fxsr"}
PROCESSORS = {
    "haswell": WITHOUT_AVX512,
    "alderlake": WITHOUT_AVX512 | {"avxvnni"},
    "znver4": {*cpu_features()},  # it prefers vectors of 512 bits, Intel's of 256
}
INSTRUCTION_SETS = {"haswell": "avx2", "alderlake": "avx-vnni"}
IS_X86 = os.uname().machine == "x86_64"
MODELS = ["Llama-int8", "Qwen3.5-int8", "gpt-oss-int8"]

STATISTICS = """
import numpy as np
from cactus_actors.workers.kernels.logit_chunks import logit_stats_width
from cactus_actors.workers.kernels.sampling import logit_stats_of_rows

for size in (1, 31, 200, 1024, 5003):
    logits = np.random.default_rng(size).normal(0, 4, (3, size)).astype(np.float32)
    statistics = np.empty((3, logit_stats_width(size)), np.float32)
    logit_stats_of_rows(logits, statistics)
    print(statistics.tobytes().hex())
"""


def output_of(*arguments: str, processor: str | None = None, kernels: str = "") -> str:
    environment = os.environ | {ENVIRONMENT_VARIABLE: kernels}
    if processor is not None:
        features = ",".join(f"+{name}" for name in sorted(PROCESSORS[processor]))
        environment |= {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": features}
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=1800, check=True
    ).stdout


def answers(processor: str | None = None, kernels: str = "") -> tuple[str, list[str]]:
    """The kernels that were used, and digests of what models say on them."""
    name, *digests = output_of(
        "-m", "tests.support.models.bits_of_answers", *MODELS, processor=processor, kernels=kernels
    ).split()
    return name, digests


def other_processors(*names: str) -> pytest.MarkDecorator:
    """Those of them whose instructions this one has."""
    able = [name for name in names if IS_X86 and PROCESSORS[name] <= cpu_features()]
    return pytest.mark.parametrize("processor", able)


@other_processors("haswell")
def test_sums_over_logits_have_the_same_bits(processor: str) -> None:
    assert output_of("-c", STATISTICS, processor=processor) == output_of("-c", STATISTICS)


@pytest.fixture(scope="module")
def expected() -> list[str]:
    return answers()[1]


@pytest.mark.slow  # each compiles the step and the sampler
@other_processors(*PROCESSORS)
def test_answers_have_the_same_bits_on_other_processors(processor: str, expected: list[str]) -> None:
    kernels, digests = answers(processor=processor)
    assert kernels == INSTRUCTION_SETS.get(processor, kernels)
    assert digests == expected


@pytest.mark.slow
@pytest.mark.parametrize("kernels", [row.name for row in usable_instruction_sets()[1:]])
def test_answers_have_the_same_bits_by_other_instructions(kernels: str, expected: list[str]) -> None:
    assert answers(kernels=kernels) == (kernels, expected)
