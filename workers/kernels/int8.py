# ruff: noqa: ARG001 - numba matches arguments by the names of all parameters, used or not
"""Weights and rows as int8 with a scale for each group of 64: integer sums inside a group, floats across.

A row is quantised when it is written, each group by its own largest value. It is kept unsigned, x + 128,
because that is what dot-product instructions multiply with signed weights; the sum starts at -128 times
the sum of the weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.extending import overload
from numpy.typing import NDArray

from workers.kernels import matrix as operations
from workers.kernels.instruction_sets import AVX512_VNNI, PORTABLE, InstructionSet
from workers.kernels.memory import aligned_zeros, round_up
from workers.kernels.tiles import Operand, Reduce, counted, index, make_matmul, variables
from workers.kernels.vectors import (
    F32,
    FLOATS,
    I8,
    I32,
    INTEGERS,
    absolute,
    broadcast,
    constant,
    load,
    max_of_lanes,
    maximum,
    multiply_add,
    splat,
    store_bytes,
)
from workers.weights.quantize import GROUP_SIZE, SMALLEST_GROUP, quantize_int8

COLUMNS = 16
QUADS = GROUP_SIZE // 4
CHAINS = 4
"""A single row keeps this many integer sums, because one would wait for each dot product."""


class Int8Matrix(NamedTuple):
    """Stacked weights; a block is 16 rows of a weight, four inputs of each side by side."""

    values: NDArray[np.int8]  # (layers, blocks, columns / 4, 16, 4)
    scales: NDArray[np.float32]  # (layers, blocks, groups, 16)
    corrections: NDArray[np.int32]  # (layers, blocks, groups, 16): -128 times the sum of the group's weights


class VnniInt8Matrix(NamedTuple):
    """An Int8Matrix whose type asks for the kernels with AVX-512 VNNI."""

    values: NDArray[np.int8]
    scales: NDArray[np.float32]
    corrections: NDArray[np.int32]


class Int8Rows(NamedTuple):
    """Quantised rows: x = (value - 128) * scale of its group."""

    values: NDArray[np.uint8]  # (rows, columns)
    scales: NDArray[np.float32]  # (rows, groups)


@dataclass(frozen=True)
class Int8Format:
    """Weights rounded to int8 in groups of 64 inputs."""

    instruction_set: InstructionSet
    name: str = "int8"

    @property
    def kernels(self) -> str:
        """The instruction set in use."""
        return self.instruction_set.name

    def empty_matrix(self, num_layers: int, num_rows: int, num_columns: int) -> Int8Matrix | VnniInt8Matrix:
        """Zeros, padded to whole blocks and groups."""
        num_blocks = round_up(num_rows, COLUMNS) // COLUMNS
        num_groups = round_up(num_columns, GROUP_SIZE) // GROUP_SIZE
        make = VnniInt8Matrix if self.instruction_set is AVX512_VNNI else Int8Matrix
        return make(
            aligned_zeros((num_layers, num_blocks, num_groups * QUADS, COLUMNS, 4), np.int8),
            aligned_zeros((num_layers, num_blocks, num_groups, COLUMNS), np.float32),
            aligned_zeros((num_layers, num_blocks, num_groups, COLUMNS), np.int32),
        )

    def fill(self, matrix: Any, layer: int, weights: NDArray[np.float32]) -> None:
        """Quantise and pack, some thousand weight rows at a time to bound the memory it takes."""
        rows_at_once = 128 * COLUMNS
        for first in range(0, len(weights), rows_at_once):
            values, scales = quantize_int8(weights[first : first + rows_at_once])
            num_blocks = round_up(len(values), COLUMNS) // COLUMNS
            missing = num_blocks * COLUMNS - len(values)
            values = np.pad(values, ((0, missing), (0, 0))).reshape(num_blocks, COLUMNS, -1, 4)
            scales = np.pad(scales, ((0, missing), (0, 0))).reshape(num_blocks, COLUMNS, -1)
            sums = values.reshape(*scales.shape, GROUP_SIZE).sum(axis=3, dtype=np.int32)
            blocks = slice(first // COLUMNS, first // COLUMNS + num_blocks)
            matrix.values[layer, blocks] = values.swapaxes(1, 2)
            matrix.scales[layer, blocks] = scales.swapaxes(1, 2)
            matrix.corrections[layer, blocks] = -128 * sums.swapaxes(1, 2)

    def empty_rows(self, max_rows: int, num_columns: int) -> Int8Rows:
        """Zeros, as wide as the matrix is deep."""
        num_groups = round_up(num_columns, GROUP_SIZE) // GROUP_SIZE
        return Int8Rows(
            aligned_zeros((max_rows, num_groups * GROUP_SIZE), np.uint8),
            aligned_zeros((max_rows, num_groups), np.float32),
        )


def _reduce_with(instructions: InstructionSet) -> Reduce:
    def reduce(
        builder: ir.IRBuilder, height: int, rows: Operand, row: ir.Value, matrix: Operand, block: ir.Value
    ) -> list[ir.Value]:
        num_groups = matrix.extent("scales", 2)
        depth = builder.mul(num_groups, index(GROUP_SIZE))
        inputs = rows.pointer("values", builder.mul(row, depth), I8)
        input_scales = rows.pointer("scales", builder.mul(row, num_groups), F32)
        weights = matrix.pointer("values", builder.mul(builder.mul(block, depth), index(COLUMNS)), I8)
        group_lanes = builder.mul(builder.mul(block, num_groups), index(COLUMNS))
        scales = matrix.pointer("scales", group_lanes, F32)
        corrections = matrix.pointer("corrections", group_lanes, I32)
        num_chains = CHAINS if height == 1 else 1

        def lanes_of(pointer: ir.Value, group: ir.Value, wide: ir.Type) -> ir.Value:
            at = builder.gep(pointer, [builder.mul(group, index(COLUMNS))])
            return builder.load(builder.bitcast(at, wide.as_pointer()), align=64)

        def below(pointer: ir.Value, rows_down: int, stride: ir.Value, offset: ir.Value) -> ir.Value:
            return builder.gep(pointer, [builder.add(builder.mul(stride, index(rows_down)), offset)])

        totals = variables(builder, constant(FLOATS, 0.0), height)
        with counted(builder, num_groups, 1) as (group, _):
            first_quad = builder.mul(group, index(QUADS))
            sums = [variables(builder, constant(INTEGERS, 0), num_chains) for _ in range(height)]
            for chains in sums:
                builder.store(lanes_of(corrections, group, INTEGERS), chains[0])
            with counted(builder, index(QUADS), instructions.unroll) as (quad, _):
                for step in range(instructions.unroll):
                    at = builder.add(first_quad, builder.add(quad, index(step)))
                    packed = builder.gep(weights, [builder.mul(at, index(4 * COLUMNS))])
                    packed = builder.bitcast(packed, ir.VectorType(I8, 4 * COLUMNS).as_pointer())
                    packed = builder.load(packed, align=64)
                    for rows_down, chains in enumerate(sums):
                        four = below(inputs, rows_down, depth, builder.mul(at, index(4)))
                        four = builder.load(builder.bitcast(four, I32.as_pointer()), align=4)
                        chain = chains[step % num_chains]
                        builder.store(instructions.dot(builder, builder.load(chain), four, packed), chain)
            weight_scale = lanes_of(scales, group, FLOATS)
            for rows_down, (chains, total) in enumerate(zip(sums, totals, strict=True)):
                integer = builder.load(chains[0])
                for chain in chains[1:]:
                    integer = builder.add(integer, builder.load(chain))
                input_scale = builder.load(below(input_scales, rows_down, num_groups, group))
                scale = builder.fmul(weight_scale, splat(builder, input_scale, COLUMNS))
                real = builder.sitofp(integer, FLOATS)
                builder.store(multiply_add(builder, real, scale, builder.load(total)), total)
        return [builder.load(total) for total in totals]

    return reduce


_matmul_vnni = make_matmul(_reduce_with(AVX512_VNNI), COLUMNS)
_matmul_portable = make_matmul(_reduce_with(PORTABLE), COLUMNS)


@overload(operations.matmul, jit_options={"error_model": "numpy"})
def _choose_matmul(
    rows: Any, num_rows: int, matrix: Any, layer: int, out: Any, accumulate: bool, rank: int, size: int
) -> Any:
    if operations.is_a(matrix, VnniInt8Matrix):
        return _matmul_vnni
    return _matmul_portable if operations.is_a(matrix, Int8Matrix) else None


@overload(operations.encode_row, jit_options={"error_model": "numpy"})
def _choose_encode_row(matrix: Any, rows: Any, row: int, source: Any, source_row: int) -> Any:
    return _encode_row if operations.is_a(matrix, VnniInt8Matrix, Int8Matrix) else None


def _encode_row(matrix: Any, rows: Any, row: int, source: Any, source_row: int) -> None:
    values, scales = rows.values, rows.scales
    depth, num_groups = values.shape[1], scales.shape[1]
    start = source_row * source.shape[1]
    for group in range(num_groups):
        first = group * 64
        largest = absolute(load(source, start + first))
        for k in range(first + 16, first + 64, 16):
            largest = maximum(largest, absolute(load(source, start + k)))
        peak = max_of_lanes(largest)
        scales[row, group] = peak / np.float32(127)
        inverse = np.float32(0) if peak < SMALLEST_GROUP else np.float32(127) / peak
        for k in range(first, first + 64, 16):
            store_bytes(values, row * depth + k, load(source, start + k) * broadcast(inverse))


@overload(operations.decode_weights, jit_options={"error_model": "numpy"})
def _choose_decode_weights(matrix: Any, index: int, out: Any, out_row: int) -> Any:
    return _decode_weights if operations.is_a(matrix, VnniInt8Matrix, Int8Matrix) else None


def _decode_weights(matrix: Any, index: int, out: Any, out_row: int) -> None:
    values, scales = matrix.values, matrix.scales
    block, lane = index // 16, index % 16
    for quad in range(values.shape[2]):
        scale = scales[0, block, quad // 16, lane]
        for k in range(4):
            out[out_row, quad * 4 + k] = np.float32(values[0, block, quad, lane, k]) * scale
