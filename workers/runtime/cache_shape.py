"""The values that a graph keeps in the cache."""

from __future__ import annotations

from cactus_actors.workers.engine.kv_cache import CacheShape
from cactus_actors.workers.runtime.graph import Graph


def cache_shape_of(graph: Graph) -> CacheShape:
    """Keys and values of its attentions, inputs of its short convolutions, and the state of its recurrences."""
    return CacheShape(
        layers=graph.cached_layers,
        num_state_layers=graph.num_state_layers,
        state_size=graph.config.hidden_size if graph.num_state_layers else 0,
        slot_size=graph.slot_size,
    )
