"""Compiles a product of the kernels for an ARM CPU, on any machine: FORMAT KERNELS FEATURES DIRECTORY."""

from __future__ import annotations

import sys
from typing import Any

from tests.support.arm.cross_compiling import array_at, choose_features, write

NAME, KERNELS, FEATURES, DIRECTORY = sys.argv[1:]
choose_features(FEATURES)

from cactus_actors.workers.kernels.instruction_sets import TABLE  # noqa: E402
from cactus_actors.workers.kernels.matrix import Matrix, encode_row, matmul, num_blocks  # noqa: E402
from cactus_actors.workers.kernels.weight_formats import FORMATS  # noqa: E402

[instructions] = (row for row in TABLE if row.name == KERNELS)
arena = FORMATS[NAME][instructions].wrap


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


write(product, DIRECTORY)
