"""Compiles a product of the kernels for an ARM CPU, on any machine: FORMAT KERNELS FEATURES DIRECTORY.

Writes the assembly and an object file; its function `product` is that of `product.c`.
"""

from __future__ import annotations

import platform
import sys
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

# numba compiles for the machine that it finds, from its import on.
llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
llvm.get_process_triple = lambda: "aarch64-unknown-linux-gnu"
platform.machine = lambda: "aarch64"

from numba import cfunc, config, types  # noqa: E402
from numba.np.arrayobj import get_cfarray_intrinsic  # noqa: E402

NAME, KERNELS, FEATURES, DIRECTORY = sys.argv[1:]
config.CPU_NAME, config.CPU_FEATURES = "generic", FEATURES

from cactus_actors.workers.kernels.instruction_sets import TABLE  # noqa: E402
from cactus_actors.workers.kernels.internal import UNCOUNTED  # noqa: E402
from cactus_actors.workers.kernels.matrix import Matrix, encode_row, matmul, num_blocks  # noqa: E402
from cactus_actors.workers.kernels.weight_formats import FORMATS  # noqa: E402

[instructions] = (row for row in TABLE if row.name == KERNELS)
arena = FORMATS[NAME][instructions].wrap
array_at = get_cfarray_intrinsic("C", None)  # numba's `carray` needs its runtime

BYTES, FLOATS, NUMBER = types.CPointer(types.uint8), types.CPointer(types.float32), types.intp
SIGNATURE = types.void(BYTES, BYTES, FLOATS, FLOATS, NUMBER, NUMBER, NUMBER, NUMBER)


@cfunc(SIGNATURE, error_model="numpy", **UNCOUNTED)  # type: ignore[untyped-decorator]  # numba is untyped
def product(
    weights: Any, rows: Any, source: Any, out: Any, outputs: int, inputs: int, num_rows: int, size: int
) -> None:
    """out = source @ weights.T; rows of both are padded to multiples of 64."""
    packed, matrix = arena(array_at(weights, (size,))), Matrix(0, outputs, inputs)
    depth, width = (inputs + 63) // 64 * 64, (outputs + 63) // 64 * 64
    encoded = array_at(rows, (num_rows * depth * 4,))
    read, written = array_at(source, (num_rows * depth,)), array_at(out, (num_rows * width,))
    for row in range(num_rows):
        encode_row(packed, encoded, 0, num_rows, row, inputs, read, row * depth, 0, depth)
    matmul(packed, matrix, encoded, 0, 0, num_rows, written, 0, width, False, 0, num_blocks(packed, matrix))


library = product._library
module, machine = library._final_module, library.codegen._tm
module.get_function(product._wrapper_name).name = "product"
Path(DIRECTORY, "product.s").write_text(machine.emit_assembly(module))
Path(DIRECTORY, "product.o").write_bytes(machine.emit_object(module))
