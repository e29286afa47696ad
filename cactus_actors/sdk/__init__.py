"""The Cactus engine's own functions, in process: no Ray, no sockets. `docs/sdk.md` shows them at work."""

from cactus_actors.sdk.errors import CallFailed
from cactus_actors.sdk.functions import (
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
from cactus_actors.sdk.model import CactusModel

__all__ = [
    "CactusModel",
    "CallFailed",
    "cactus_complete",
    "cactus_destroy",
    "cactus_embed",
    "cactus_get_last_error",
    "cactus_init",
    "cactus_prefill",
    "cactus_rag_query",
    "cactus_reset",
    "cactus_score_window",
    "cactus_stop",
    "cactus_tokenize",
]
