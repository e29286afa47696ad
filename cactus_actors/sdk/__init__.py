"""The Cactus engine's functions, in process (no Ray, no sockets) or at a running service.

`docs/reference/sdk.md` has examples.
"""

from cactus_actors.sdk.index_functions import (
    cactus_index_add,
    cactus_index_compact,
    cactus_index_delete,
    cactus_index_destroy,
    cactus_index_get,
    cactus_index_init,
    cactus_index_query,
)
from cactus_actors.sdk.last_error import CallFailed
from cactus_actors.sdk.model_functions import (
    cactus_complete,
    cactus_destroy,
    cactus_embed,
    cactus_get_last_error,
    cactus_init,
    cactus_prefill,
    cactus_rag_query,
    cactus_reset,
    cactus_score_window,
    cactus_stop,
    cactus_tokenize,
)
from cactus_actors.sdk.model_handle import CactusModel
from cactus_actors.sdk.vector_index import CactusIndex

__all__ = [
    "CactusIndex",
    "CactusModel",
    "CallFailed",
    "cactus_complete",
    "cactus_destroy",
    "cactus_embed",
    "cactus_get_last_error",
    "cactus_index_add",
    "cactus_index_compact",
    "cactus_index_delete",
    "cactus_index_destroy",
    "cactus_index_get",
    "cactus_index_init",
    "cactus_index_query",
    "cactus_init",
    "cactus_prefill",
    "cactus_rag_query",
    "cactus_reset",
    "cactus_score_window",
    "cactus_stop",
    "cactus_tokenize",
]
