"""Intel's AMX: who may use it, and the code that is made for it, on any machine.

That its products are right is shown with those of every instruction set, where the CPU has it.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.workers.kernels import instruction_sets
from cactus_actors.workers.kernels.instruction_sets import AMX, AVX512_VNNI, choose_instruction_set

FEATURES = frozenset({"avx512f", "avx512bw", "avx512vnni", "amx-tile", "amx-int8"})
COMPILE = """
import numpy as np
from numba import njit, typeof
from cactus_actors.workers.kernels.instruction_sets import AMX
from cactus_actors.workers.kernels.int8 import INT8
from cactus_actors.workers.kernels.matrix import Matrix, matmul

packed, floats = np.zeros(64, np.uint8), np.zeros(64, np.float32)

@njit((typeof(INT8[AMX].wrap(packed)), typeof(packed), typeof(floats)))
def product(weights, rows, out):
    matmul(weights, Matrix(0, 64, 128), rows, 0, 0, 37, out, 0, 64, False, 0, 4)

[code] = product.inspect_asm().values()
for name in ("ldtilecfg", "tdpbsud", "tilestored", "tilerelease", "vpdpbusd"):
    assert name in code, name
"""


@pytest.mark.parametrize(("is_permitted", "best"), [(True, AMX), (False, AVX512_VNNI)])
def test_amx_is_used_if_the_kernel_permits_it(
    monkeypatch: pytest.MonkeyPatch, is_permitted: bool, best: instruction_sets.InstructionSet
) -> None:
    monkeypatch.setattr(instruction_sets, "cpu_features", lambda: FEATURES)
    monkeypatch.setattr(instruction_sets, "ask_for_amx", lambda: is_permitted)
    assert choose_instruction_set({}) is best
    assert choose_instruction_set({"CACTUS_KERNELS": "avx512-vnni"}) is AVX512_VNNI


def test_a_cpu_without_amx_is_not_asked_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instruction_sets, "cpu_features", lambda: FEATURES - {"amx-int8"})
    monkeypatch.setattr(instruction_sets, "ask_for_amx", lambda: pytest.fail("it was asked"))
    assert choose_instruction_set({}) is AVX512_VNNI
    with pytest.raises(ConfigurationInvalid, match="this CPU can use avx512-vnni"):
        choose_instruction_set({"CACTUS_KERNELS": "amx-int8"})


@pytest.mark.slow
def test_the_code_for_amx_is_made_on_any_x86_machine() -> None:
    features = ",".join(f"+{name}" for name in sorted(FEATURES | {"avx2", "avx512dq", "avx512vl", "fma", "f16c"}))
    cpu = {"NUMBA_CPU_NAME": "sapphirerapids", "NUMBA_CPU_FEATURES": features}
    made = subprocess.run(
        [sys.executable, "-c", COMPILE], env=os.environ | cpu, capture_output=True, text=True, timeout=300, check=False
    )
    assert made.returncode == 0, made.stderr
