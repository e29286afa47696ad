"""Makes numba compile for an ARM CPU, on any machine: it is imported before numba, and before the kernels."""

from __future__ import annotations

import platform
from collections.abc import Callable
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

array_at = get_cfarray_intrinsic("C", None)  # numba's `carray` needs its runtime

BYTES, FLOATS, NUMBER = types.CPointer(types.uint8), types.CPointer(types.float32), types.intp


def choose_features(features: str) -> None:
    """Compile for a CPU with these features, by LLVM's names."""
    config.CPU_NAME, config.CPU_FEATURES = "generic", features


def write(function: Callable[..., None], directory: str, first: Any = BYTES) -> None:
    """Write the assembly and an object file of a function with the arguments of `product` in `product.c`.

    `first` is the type of the first one.
    """
    from cactus_actors.workers.kernels.internal import UNCOUNTED

    signature = types.void(first, BYTES, FLOATS, FLOATS, NUMBER, NUMBER, NUMBER, NUMBER)
    compiled: Any = cfunc(signature, error_model="numpy", **UNCOUNTED)(function)
    library = compiled._library
    module, machine = library._final_module, library.codegen._tm
    module.get_function(compiled._wrapper_name).name = "product"
    Path(directory, "product.s").write_text(machine.emit_assembly(module))
    Path(directory, "product.o").write_bytes(machine.emit_object(module))
