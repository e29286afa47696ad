"""The parts of a model that an engine needs and that do not affect tokens."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cactus_actors.workers.engine.cache_cost import CacheCost
from cactus_actors.workers.engine.kv_cache import CacheShape, KVCache
from cactus_actors.workers.engine.model import TileEncoder, TokenGuesser
from cactus_actors.workers.kernels.cache_formats import cached_layers
from cactus_actors.workers.spec.model_config import Layer, ModelConfig


class FakeModel:
    """A model without weights; a subclass computes its logits in `forward`."""

    kernels = "none"
    num_weights = 1
    slot_size = 0
    encoder: TileEncoder | None = None
    draft_head: TokenGuesser | None = None

    def __init__(self, vocab_size: int) -> None:
        self.config = ModelConfig(
            family="fake",
            vocab_size=vocab_size,
            hidden_size=4,
            ffn_size=4,
            layers=(Layer(),),
            num_heads=1,
            num_kv_heads=1,
            head_dim=4,
            ropes=(),
            norm_eps=1.0,
            max_context=200,
            tie_embeddings=True,
        )

    def new_cache(self, num_blocks: int, block_size: int = 16, num_slots: int = 0) -> KVCache:
        return KVCache.allocate(self.cache_shape, num_blocks, block_size, num_slots=num_slots)

    def cache_cost(self, block_size: int = 16) -> CacheCost:
        return self.cache_shape.cost(block_size, "float32")

    @property
    def cache_shape(self) -> CacheShape:
        return CacheShape(cached_layers([(1, 4)]), slot_size=self.slot_size)

    def logit_stats(self, num_rows: int) -> None:
        return None

    def last_hidden(self, num_rows: int) -> NDArray[np.float32]:
        raise NotImplementedError

    def tapped_states(self, num_rows: int) -> dict[int, NDArray[np.float32]]:
        raise NotImplementedError

    def remove_adapter(self, slot: int) -> None:
        raise NotImplementedError

    def close(self) -> None:
        pass
