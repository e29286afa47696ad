"""The paged store of keys and values of all sequences of one worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from workers.kernels.memory import aligned_zeros, round_up
from workers.kernels.vectors import LANES

if TYPE_CHECKING:
    from workers.models.config import ModelConfig


@dataclass(frozen=True, slots=True)
class KVCache:
    """Blocks of `block_size` positions for every layer and key-value head.

    Keys stand with the positions of a block side by side, so that one vector holds the scores of sixteen
    positions; both are padded with zeros to whole vectors. The block tables say which block is whose.
    """

    block_size: int
    keys: NDArray[np.float32]  # (layers, blocks, kv_heads, head_dim, padded block_size)
    values: NDArray[np.float32]  # (layers, blocks, kv_heads, block_size, padded head_dim)

    @classmethod
    def allocate(cls, config: ModelConfig, num_blocks: int, block_size: int = 16) -> KVCache:
        """A zeroed cache; its pages are taken from the system when they are first written."""
        heads = (config.num_layers, num_blocks, config.num_kv_heads)
        keys = (*heads, config.head_dim, round_up(block_size, LANES))
        values = (*heads, block_size, round_up(config.head_dim, LANES))
        return cls(block_size, aligned_zeros(keys, np.float32), aligned_zeros(values, np.float32))

    @staticmethod
    def bytes_per_block(config: ModelConfig, block_size: int = 16) -> int:
        """Memory of one block over all layers."""
        lanes = config.head_dim * round_up(block_size, LANES) + block_size * round_up(config.head_dim, LANES)
        return config.num_layers * config.num_kv_heads * lanes * np.dtype(np.float32).itemsize

    @property
    def num_blocks(self) -> int:
        """How many blocks there are."""
        return int(self.keys.shape[1])
