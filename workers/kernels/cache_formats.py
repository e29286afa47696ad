# ruff: noqa: ARG001 - numba matches arguments by the names of all parameters, used or not
"""The paged KV cache in compiled code: one named tuple of arrays per number format.

Kernels of floats read sixteen elements as float32, whichever float they are stored as. float16 is stored as uint16,
because numba has no float16. Those of int8 multiply integers, by the instruction set that the type of the cache names.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from cactus_actors.workers.kernels.aligned_memory import round_up
from cactus_actors.workers.kernels.instruction_sets import TABLE, InstructionSet, cpu_features
from cactus_actors.workers.kernels.internal import INTERNAL, internal
from cactus_actors.workers.kernels.simd import F32, FLOATS, LANES

HALF = ir.HalfType()
LARGEST_INT8 = 127
TOGETHER = 4
"""Dimensions of a key, or positions of values, that an integer product adds up: they are side by side."""
SCALES_BYTES = 8
"""Of a position and head in int8: a float32 for its keys, and one for its values."""


class CachedLayer(NamedTuple):
    """A layer of attention in the cache: its heads, and the sizes of all layers before it.

    Layers follow one another, each with its own sizes. A layer has its blocks one after the other, keys as
    (blocks, heads, head_dim, padded block_size), values as (blocks, heads, block_size, padded head_dim).
    """

    num_heads: int
    head_dim: int
    heads_before: int
    dims_before: int  # heads * head_dim
    columns_before: int  # heads * padded head_dim


def cached_layers(heads: Iterable[tuple[int, int]]) -> tuple[CachedLayer, ...]:
    """The layers of a cache, from the number and size of the key-value heads of each."""
    layers: list[CachedLayer] = []
    num_heads = num_dims = num_columns = 0
    for count, head_dim in heads:
        layers.append(CachedLayer(count, head_dim, num_heads, num_dims, num_columns))
        num_heads += count
        num_dims += count * head_dim
        num_columns += count * round_up(head_dim, LANES)
    return tuple(layers)


class Float32Cache(NamedTuple):
    """Keys, values and states as computed; see `CachedLayer` for the order within keys, values and scales."""

    keys: NDArray[np.float32]  # (sum of head_dim over all heads and layers, blocks, padded block_size)
    values: NDArray[np.float32]  # (sum of padded head_dim over all heads and layers, blocks, block_size)
    states: NDArray[np.float32]  # (state layers, blocks, block_size, padded state_size)
    slots: NDArray[np.float32]  # (slots, slot_size) recurrent states of sequences


class Float16Cache(NamedTuple):
    """Keys and values as IEEE half floats; beyond 65504 they become infinite."""

    keys: NDArray[np.uint16]
    values: NDArray[np.uint16]
    states: NDArray[np.float32]
    slots: NDArray[np.float32]


class Int8Cache(NamedTuple):
    """Keys and values in steps of 1/127 of the largest of their position and head, for products of integers.

    What a head has in a block is one run of memory: a float32 scale for the keys of each position, those of values,
    the keys as (head_dim / 4, positions, 4), with 128 added, and the values as (positions / 4, head_dim, 4). All
    positions and dimensions are padded to whole vectors.
    """

    keys: NDArray[np.uint8]  # (bytes for a position over all heads and layers, blocks, padded block_size): all of it
    states: NDArray[np.float32]
    slots: NDArray[np.float32]


def _make_int8_cache(instructions: InstructionSet) -> type[Int8Cache]:
    """Int8Cache for an instruction set: numba selects the kernels by the type."""
    name = f"Int8Cache_{instructions.name}".replace("-", "_")
    # numba's cache finds the type again by its name in this module.
    made: type[Int8Cache] = type(name, (Int8Cache,), {"__slots__": (), "__module__": __name__})
    globals()[name] = made
    return made


INT8_CACHES = {instructions: _make_int8_cache(instructions) for instructions in TABLE}
_INSTRUCTIONS = {made: instructions for instructions, made in INT8_CACHES.items()}


def is_int8(cache_type: Any) -> bool:
    """True for the type of a cache of int8, false for one of floats."""
    return cache_type.instance_class in _INSTRUCTIONS


def instructions_of(cache_type: Any) -> InstructionSet:
    """The instruction set that the integers of a cache of int8 are multiplied with."""
    return _INSTRUCTIONS[cache_type.instance_class]


def by_format(function: Callable[..., Any], of_floats: Callable[..., Any], of_int8: Callable[..., Any]) -> None:
    """Let compiled code that calls `function`, whose first argument is the cache, run the one for its format.

    It is part of its callers: a call copies all fields of all arrays.
    """

    def chosen(cache: Any, *_: Any) -> Callable[..., Any]:
        return of_int8 if is_int8(cache) else of_floats

    overload(function, jit_options={"error_model": "numpy", "forceinline": True, **INTERNAL}, strict=False)(chosen)


def field(context: Any, builder: ir.IRBuilder, cache_type: Any, cache: ir.Value, name: str) -> Any:
    """(numba type, LLVM value) of one array of a cache."""
    position = cache_type.fields.index(name)
    return cache_type.types[position], builder.extract_value(cache, position)


def widen(builder: ir.IRBuilder, dtype: Any, pointer: ir.Value) -> ir.Value:
    """Sixteen elements of an array of floats of that dtype as float32."""
    stored = {types.float32: F32, types.uint16: HALF}[dtype]
    pointer = builder.bitcast(pointer, ir.VectorType(stored, LANES).as_pointer())
    elements = builder.load(pointer, align=stored_bytes(dtype))
    return elements if stored is F32 else builder.fpext(elements, FLOATS)


def converts_half_floats() -> bool:
    """True if this CPU has instructions for half floats, which compiled code needs."""
    return "f16c" in cpu_features() or platform.machine() not in ("x86_64", "AMD64")


def stored_bytes(dtype: Any) -> int:
    """Bytes of one element."""
    return int(dtype.bitwidth) // 8


@internal(error_model="numpy")
def padded(head_dim: int) -> int:
    """Columns of a position's values of one head: whole vectors."""
    return (head_dim + LANES - 1) // LANES * LANES
