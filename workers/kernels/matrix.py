# ruff: noqa: ARG001 - numba matches arguments by the names of all parameters, used or not
"""Operations of compiled model code on weights, for every format and instruction set.

An arena is one array of bytes with all matrices of a format, in a named tuple whose type identifies format and
instruction set; numba selects the implementation by that type, so model code is written once.

A matrix is packed as blocks of outputs, a block as groups of inputs: computing one block reads its bytes
once, from first to last, and neighbouring blocks are neighbours in memory.

Every element of a product is reduced over the inputs in one fixed order, independent of the number of rows, the
tile and neighbouring blocks.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from cactus_actors.workers.kernels.aligned_memory import round_up
from cactus_actors.workers.kernels.instruction_sets import AMX, AVX512_VNNI, TABLE, InstructionSet
from cactus_actors.workers.kernels.internal import INTERNAL

WIDTH_MULTIPLE = 64
"""Rows of a buffer are padded with zeros to a multiple of this: whole tiles of every format fit."""


class Matrix(NamedTuple):
    """One packed weight inside an arena."""

    start: int  # byte offset, a multiple of 64
    num_rows: int  # outputs
    num_columns: int  # inputs


@dataclass(frozen=True)
class BlockLayout:
    """Sizes of the packed blocks of a weight, and of the encoded rows that it multiplies."""

    outputs: int  # of a block
    inputs: int  # of a group
    group_bytes: int  # of a block's group
    row_group_bytes: int  # of a row's group
    header_bytes: int = 0  # of a block, before its groups; a multiple of 64

    def num_blocks(self, num_rows: int) -> int:
        """Blocks of a weight with this many outputs."""
        return -(-num_rows // self.outputs)

    def num_groups(self, num_columns: int) -> int:
        """Groups of a block with this many inputs."""
        return -(-num_columns // self.inputs)

    def num_bytes(self, num_rows: int, num_columns: int) -> int:
        """Packed size of a weight."""
        block_bytes = self.header_bytes + self.num_groups(num_columns) * self.group_bytes
        return self.num_blocks(num_rows) * block_bytes

    def row_bytes(self, num_columns: int) -> int:
        """Size of one encoded row."""
        return round_up(self.num_groups(num_columns) * self.row_group_bytes, 8)


class Kernels(NamedTuple):
    """The functions below for one format and instruction set, in Python that numba compiles."""

    encode_row: Callable[..., None]
    matmul: Callable[..., None]
    decode_row: Callable[..., None]


Pack = Callable[[NDArray[np.float32], NDArray[np.uint8]], None]


@dataclass(frozen=True)
class PackedFormat:
    """One weight format for Python code, with the kernels of one instruction set."""

    name: str
    instruction_set: InstructionSet
    layout: BlockLayout
    _pack: Pack
    wrap: Callable[[NDArray[np.uint8]], Any]
    """The arena as compiled code takes it."""

    @property
    def kernels(self) -> str:
        """Name of the instruction set."""
        return self.instruction_set.name

    def num_bytes(self, num_rows: int, num_columns: int) -> int:
        """Packed size of a weight, a multiple of 64."""
        return self.layout.num_bytes(num_rows, num_columns)

    def row_bytes(self, num_columns: int) -> int:
        """Bytes of one encoded row, a multiple of 8."""
        return self.layout.row_bytes(num_columns)

    def packed_by(self, pack: Pack) -> PackedFormat:
        """A copy of this format whose scales are chosen by `pack`."""
        return replace(self, _pack=pack)

    def pack(self, weights: NDArray[np.float32], target: NDArray[np.uint8]) -> None:
        """Pack a weight, (outputs, inputs), into all of `target`; the layout is the same on every CPU."""
        self._pack(np.ascontiguousarray(weights), target)


MakeKernels = Callable[[InstructionSet], Kernels]
_makers: dict[type, tuple[BlockLayout, MakeKernels, InstructionSet]] = {}
_made: dict[type, Kernels] = {}


def make_formats(
    name: str, layout: BlockLayout, pack: Pack, make_kernels: MakeKernels, *, uses_amx: bool = False
) -> dict[InstructionSet, PackedFormat]:
    """A weight format for each instruction set; one that does not use AMX has the kernels of AVX-512 there."""
    formats = {}
    for instructions in TABLE:
        if instructions is AMX and not uses_amx:
            continue
        type_name = f"{name}_{instructions.name}_weights".replace("-", "_")
        # numba's cache finds the type again by its name in this module.
        made = globals()[type_name] = namedtuple(type_name, ["data"], module=__name__)
        _makers[made] = layout, make_kernels, instructions
        formats[instructions] = PackedFormat(name, instructions, layout, pack, made)
    return {AMX: formats[AVX512_VNNI]} | formats


def _kernels(numba_type: Any) -> Kernels | None:
    made_for = getattr(numba_type, "instance_class", None)
    if made_for not in _makers:
        return None
    if made_for not in _made:
        _, make_kernels, instructions = _makers[made_for]
        _made[made_for] = make_kernels(instructions)
    return _made[made_for]


def num_blocks(weights: Any, matrix: Matrix) -> int:
    """Blocks of columns of a product, each computed apart from the others."""
    raise NotImplementedError


def encode_row(
    weights: Any,
    rows: Any,
    rows_start: int,
    num_rows: int,
    row: int,
    num_columns: int,
    source: Any,
    source_start: int,
    first: int,
    last: int,
) -> None:
    """Row `row` of `num_rows` that are multiplied together = source[source_start:][:num_columns].

    Of the columns from `first` to before `last`, multiples of WIDTH_MULTIPLE: threads may share a row.
    They are written from byte `rows_start` of `rows` on, a multiple of 8, in the encoding of the format. `source` has
    zeros after the columns up to WIDTH_MULTIPLE.
    """
    raise NotImplementedError


def matmul(
    weights: Any,
    matrix: Matrix,
    rows: Any,
    rows_start: int,
    first_row: int,
    last_row: int,
    out: Any,
    out_start: int,
    out_width: int,
    accumulate: bool,
    first_block: int,
    last_block: int,
) -> None:
    """out[out_start + row * out_width + n] = row . matrix[n], or += with `accumulate`.

    For the rows from `first_row` to before `last_row`, multiples of 8 except for the end of all rows, and
    for the columns n of the blocks from `first_block` to before `last_block`; columns that only pad the last
    block are written as well.
    """
    raise NotImplementedError


def decode_row(weights: Any, matrix: Matrix, index: int, out: Any, out_start: int) -> None:
    """out[out_start:] = matrix[index], padded with zeros to WIDTH_MULTIPLE: the embedding of a token."""
    raise NotImplementedError


_OPTIONS = {"error_model": "numpy", **INTERNAL}


@overload(num_blocks, jit_options=_OPTIONS)
def _num_blocks(weights: Any, matrix: Any) -> Any:
    if getattr(weights, "instance_class", None) not in _makers:
        return None
    outputs = _makers[weights.instance_class][0].outputs

    def implementation(weights: Any, matrix: Any) -> int:
        return (matrix.num_rows + outputs - 1) // outputs  # type: ignore[no-any-return]

    return implementation


def _overload_by_format(function: Callable[..., None]) -> None:
    """Let compiled code that calls `function` run the kernel of the same name for the format of its weights."""

    def kernel_of(weights: Any, *_: Any) -> Callable[..., None] | None:
        kernels = _kernels(weights)
        return None if kernels is None else getattr(kernels, function.__name__)

    overload(function, jit_options=_OPTIONS, strict=False)(kernel_of)


for _function in (encode_row, matmul, decode_row):
    _overload_by_format(_function)
