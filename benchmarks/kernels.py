# ruff: noqa: ARG001 - numba matches arguments by the names of all parameters, used or not
"""Speed of the matrix kernels compared with the limits of the machine: memory at one row, arithmetic at many.

python -m benchmarks.kernels --formats int8 int4
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types

from cactus_actors.workers.kernels.aligned_memory import aligned_zeros
from cactus_actors.workers.kernels.instruction_sets import InstructionSet, choose_instruction_set
from cactus_actors.workers.kernels.llvm_loops import counted, variables
from cactus_actors.workers.kernels.matrix import Matrix, PackedFormat, encode_row, matmul, num_blocks
from cactus_actors.workers.kernels.simd import (
    FLOATS,
    I8,
    I32,
    INTEGERS,
    address,
    constant,
    index,
    multiply_add,
    primitive,
    splat,
)
from cactus_actors.workers.kernels.tiles import at
from cactus_actors.workers.kernels.weight_formats import FORMATS

NUM_CHAINS = 12


@primitive
def _read(typing: Any, data: Any, start: Any, num_bytes: Any) -> Any:
    """A plain read: the sum of all bytes of a range, a multiple of 512, as 32-bit words."""

    def generate(context: Any, builder: ir.IRBuilder, _signature: Any, given: Any) -> ir.Value:
        sums = variables(builder, [constant(INTEGERS, 0)] * 8)
        memory = address(context, builder, data, given[0], given[1], I8)
        with counted(builder, index(0), given[2], 512) as (offset, _):
            for number, total in enumerate(sums):
                line = at(builder, builder.gep(memory, [offset]), 64 * number, INTEGERS)
                builder.store(builder.add(builder.load(total), builder.load(line, align=64)), total)
        return _any_lane(builder, sums)

    return types.int32(data, types.intp, types.intp), generate


def _make_peak(instructions: InstructionSet | None) -> Callable[[int, int], int]:
    """Compile rounds of dot products (multiply-adds without an instruction set) that touch no memory."""

    @primitive
    def spin(typing: Any, num_rounds: Any, seed: Any) -> Any:
        def generate(_context: Any, builder: ir.IRBuilder, _signature: Any, given: Any) -> ir.Value:
            inputs = builder.trunc(given[1], I32)
            lanes = splat(builder, inputs, 16)
            sums = variables(builder, [lanes] * NUM_CHAINS)
            with counted(builder, index(0), given[0]):
                for total in sums:
                    before = builder.load(total)
                    if instructions:
                        # The weights change, so that nothing can be computed once for all rounds.
                        weights = builder.bitcast(before, ir.VectorType(I8, 64))
                        after = instructions.dot(builder, before, inputs, weights)
                    else:
                        factor = builder.bitcast(lanes, FLOATS)
                        after = multiply_add(builder, factor, factor, builder.bitcast(before, FLOATS))
                        after = builder.bitcast(after, INTEGERS)
                    builder.store(after, total)
            return _any_lane(builder, sums)

        return types.int32(types.intp, types.intp), generate

    return njit(nogil=True)(lambda num_rounds, seed: spin(num_rounds, seed))  # type: ignore[no-any-return]


def _any_lane(builder: ir.IRBuilder, sums: list[ir.Value]) -> ir.Value:
    total = builder.load(sums[0])
    for other in sums[1:]:
        total = builder.add(total, builder.load(other))
    return builder.extract_element(total, I32(0))


@njit(nogil=True)  # type: ignore[untyped-decorator]  # numba is untyped
def _read_range(data: Any, start: int, num_bytes: int) -> int:
    return _read(data, start, num_bytes)  # type: ignore[no-any-return]


@njit(nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _encode(weights: Any, rows: Any, num_rows: int, num_columns: int, source: Any) -> None:
    for row in range(num_rows):
        encode_row(weights, rows, 0, num_rows, row, num_columns, source, row * num_columns, 0, num_columns)


@njit(nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _multiply(
    weights: Any, matrix: Matrix, rows: Any, num_rows: int, out: Any, rank: int, size: int, times: int
) -> None:
    blocks = num_blocks(weights, matrix)
    first, last = blocks * rank // size, blocks * (rank + 1) // size
    for _ in range(times):
        matmul(weights, matrix, rows, 0, 0, num_rows, out, 0, matrix.num_rows, False, first, last)


class Product:
    """One matrix and rows for it; widths are multiples of 64."""

    def __init__(self, chosen: PackedFormat, num_outputs: int, num_inputs: int, num_rows: int) -> None:
        self.num_bytes = chosen.num_bytes(num_outputs, num_inputs)
        self.num_operations = 2 * num_outputs * num_inputs * num_rows
        self._weights = chosen.wrap(aligned_zeros((self.num_bytes,), np.uint8))
        self._weights.data[:] = 0x3C  # about 0.01 or 1 in every float format, never a denormal number
        self._matrix, self._num_rows = Matrix(0, num_outputs, num_inputs), num_rows
        self._rows = aligned_zeros((num_rows * chosen.row_bytes(num_inputs),), np.uint8)
        self._out = aligned_zeros((num_rows * num_outputs,), np.float32)
        source = np.random.default_rng(0).standard_normal(num_rows * num_inputs, dtype=np.float32)
        _encode(self._weights, self._rows, num_rows, num_inputs, source)
        self.run(1, 1, 0)

    def run(self, size: int, times: int, rank: int) -> None:
        """Compute one rank's share several times."""
        _multiply(self._weights, self._matrix, self._rows, self._num_rows, self._out, rank, size, times)


def best_rate(work: float, num_threads: int, run: Callable[[int], object], rounds: int = 30) -> float:
    """Billions of `work` units per second in the best round of `run(rank)` on threads that start together."""
    return work / 1e9 / min(_seconds(num_threads, run) for _ in range(rounds))


def _seconds(num_threads: int, run: Callable[[int], object]) -> float:
    start = threading.Barrier(num_threads + 1)

    def body(rank: int) -> None:
        start.wait()
        run(rank)

    threads = [threading.Thread(target=body, args=(rank,)) for rank in range(num_threads)]
    for thread in threads:
        thread.start()
    start.wait()
    started = time.perf_counter()
    for thread in threads:
        thread.join()
    return time.perf_counter() - started


def report_memory(names: list[str], instructions: InstructionSet, megabytes: int) -> None:
    """GB/s of weights at one row, next to a plain read of the same number of bytes."""
    num_inputs = 1024
    memory = aligned_zeros((megabytes << 20,), np.uint8)
    memory[:] = 1
    _read_range(memory, 0, 512)
    products = {}
    for name in names:
        chosen = FORMATS[name][instructions]
        num_outputs = (megabytes << 20) // chosen.num_bytes(64, num_inputs) * 64
        products[name] = Product(chosen, num_outputs, num_inputs, 1)
    for size in (1, 2):
        share = len(memory) // size // 512 * 512
        read = best_rate(size * share, size, partial(_read_share, memory, share))
        print(f"plain read, {size} thread(s): {read:.1f} GB/s")
        for name, product in products.items():
            rate = best_rate(product.num_bytes, size, partial(product.run, size, 1))
            print(f"  {name:9}{rate:6.1f} GB/s  {rate / read:4.0%}")


def _read_share(memory: Any, share: int, rank: int) -> None:
    _read_range(memory, rank * share, share)


def report_arithmetic(names: list[str], instructions: InstructionSet) -> None:
    """GOP/s of one thread (a multiply-add is two), next to the same instructions in registers only."""
    peaks = {"integer": _peak(instructions, 128), "float": _peak(None, 32)}
    for kind, peak in peaks.items():
        print(f"{kind} peak of a thread: {peak:.0f} GOP/s")
    for name in names:
        peak = peaks["integer" if name.startswith("int") else "float"]
        for num_rows, num_outputs in ((1, 64), (4, 64), (8, 64), (16, 576), (256, 1024)):
            product = Product(FORMATS[name][instructions], num_outputs, 576, num_rows)
            times = max(1, int(1e9 / product.num_operations))
            rate = best_rate(product.num_operations * times, 1, partial(product.run, 1, times))
            print(f"  {name:9}{num_rows:4} rows, {num_outputs:5} x 576: {rate:6.0f} GOP/s  {rate / peak:4.0%}")


def _peak(instructions: InstructionSet | None, operations: int) -> float:
    spin, num_rounds = _make_peak(instructions), 500_000
    spin(1, 1)
    return best_rate(num_rounds * NUM_CHAINS * operations, 1, partial(spin, num_rounds))


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--formats", nargs="+", choices=list(FORMATS), default=list(FORMATS))
    parser.add_argument(
        "--megabytes", type=int, default=256, help="size of the weights at one row; larger than the caches"
    )
    arguments = parser.parse_args()
    instructions = choose_instruction_set()
    print(f"kernels: {instructions.name} (CACTUS_KERNELS chooses others)")
    report_memory(arguments.formats, instructions, arguments.megabytes)
    report_arithmetic(arguments.formats, instructions)


if __name__ == "__main__":
    main()
