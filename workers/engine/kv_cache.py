"""The paged KV cache of one worker."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.workers.engine.cache_cost import CacheCost
from cactus_actors.workers.kernels.aligned_memory import aligned_zeros, round_up
from cactus_actors.workers.kernels.cache_formats import (
    INT8_CACHES,
    SCALES_BYTES,
    CachedLayer,
    Float16Cache,
    Float32Cache,
    Int8Cache,
    converts_half_floats,
)
from cactus_actors.workers.kernels.instruction_sets import choose_instruction_set
from cactus_actors.workers.kernels.simd import LANES

Arrays = Float32Cache | Float16Cache | Int8Cache

FORMATS: dict[str, type[Arrays]] = {"float32": Float32Cache, "float16": Float16Cache, "int8": Int8Cache}
_ELEMENTS: dict[str, Any] = {"float32": np.float32, "float16": np.uint16, "int8": np.uint8}


@dataclass(frozen=True, slots=True)
class CacheShape:
    """The values that a model caches per token, and the floats of a sequence's recurrent state."""

    layers: tuple[CachedLayer, ...]  # of attention, without those that read the keys and values of another
    num_state_layers: int = 0  # of short convolutions
    state_size: int = 0
    slot_size: int = 0  # of recurrences

    def arrays(
        self, num_blocks: int, block_size: int, format: str, num_slots: int = 0
    ) -> dict[str, tuple[tuple[int, ...], Any]]:
        """Shape and dtype of every array of a cache, by name; raises ConfigurationInvalid for unsupported formats."""
        if format not in FORMATS:
            names = ", ".join(FORMATS)
            raise ConfigurationInvalid(f"no cache format {format!r}: there are {names}", param="kv_cache")
        if format == "float16" and not converts_half_floats():
            raise ConfigurationInvalid(
                "this CPU does not convert half floats: a cache can be float32 or int8", param="kv_cache"
            )
        num_heads = sum(layer.num_heads for layer in self.layers)
        num_dims = sum(layer.num_heads * layer.head_dim for layer in self.layers)
        num_columns = sum(layer.num_heads * round_up(layer.head_dim, LANES) for layer in self.layers)
        lanes = round_up(block_size, LANES)
        num_bytes = 2 * num_columns + num_heads * SCALES_BYTES
        element = _ELEMENTS[format]
        arrays = {
            "keys": ((num_bytes if format == "int8" else num_dims, num_blocks, lanes), element),
            "values": ((num_columns, num_blocks, block_size), element),
            "states": (
                (self.num_state_layers, num_blocks, block_size, round_up(self.state_size, LANES)),
                np.float32,
            ),
            "slots": ((num_slots if self.slot_size else 0, self.slot_size), np.float32),
        }
        return {name: arrays[name] for name in FORMATS[format]._fields}

    def cost(self, block_size: int, format: str) -> CacheCost:
        """The memory of one block and of one slot."""
        return CacheCost(self._num_bytes(1, block_size, format, 0), self._num_bytes(0, block_size, format, 1))

    def _num_bytes(self, num_blocks: int, block_size: int, format: str, num_slots: int) -> int:
        arrays = self.arrays(num_blocks, block_size, format, num_slots).values()
        return sum(math.prod(extents) * np.dtype(dtype).itemsize for extents, dtype in arrays)


@dataclass(frozen=True, slots=True)
class KVCache:
    """Blocks of `block_size` positions for every layer and key-value head, and slots for recurrent states.

    The keys of the positions of a block are adjacent, so that one vector holds the scores of sixteen positions;
    keys and values are padded with zeros to whole vectors. Block tables map sequences to blocks.
    """

    arrays: Arrays

    @classmethod
    def allocate(
        cls, shape: CacheShape, num_blocks: int, block_size: int = 16, format: str = "float32", num_slots: int = 0
    ) -> KVCache:
        """A zeroed cache; the system allocates its pages when they are first written."""
        arrays = {
            name: aligned_zeros(extents, dtype)
            for name, (extents, dtype) in shape.arrays(num_blocks, block_size, format, num_slots).items()
        }
        kind = INT8_CACHES[choose_instruction_set()] if format == "int8" else FORMATS[format]
        return cls(kind(**arrays))

    @property
    def format_name(self) -> str:
        """One of FORMATS."""
        return next(name for name, kind in FORMATS.items() if isinstance(self.arrays, kind))

    @property
    def num_blocks(self) -> int:
        return int(self.arrays.keys.shape[1])

    @property
    def block_size(self) -> int:
        """Positions of a block."""
        return int(self.arrays.states.shape[2])

    @property
    def num_states(self) -> int:
        """Slots for recurrent states; 0 for a model without recurrences."""
        return int(self.arrays.slots.shape[0])

    @property
    def num_bytes(self) -> int:
        """Memory of all blocks and slots, when written."""
        return sum(array.nbytes for array in self.arrays)
