"""Options and limits of an engine."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from cactus_actors.models.pooling import Pooling
from cactus_actors.workers.engine.detokenizer import TokenBytes
from cactus_actors.workers.engine.step_time_limiter import MAX_STEP_S
from cactus_actors.workers.engine.token_constraint import NewConstraint


@dataclass(frozen=True)
class TextOptions:
    """The text side of a model: its tokens, its grammars (None: not supported) and its embeddings."""

    tokenizer: TokenBytes
    eos_ids: Collection[int]
    new_constraint: NewConstraint | None = None
    pooling: Pooling = "mean"


@dataclass(frozen=True, kw_only=True)
class EngineLimits:
    """Limits of one engine: cache, sequences at a time, and tokens, drafts and seconds of a step.

    `num_checkpoints` recurrent states are kept for the prefix cache, `checkpoint_tokens` tokens apart. Embeddings of
    pictures are kept up to `embedding_bytes`.
    """

    cache_blocks: int
    block_size: int = 16
    max_sequences: int = 16
    token_budget: int = 256
    max_step_s: float = MAX_STEP_S
    max_drafts: int = 0
    num_checkpoints: int = 32
    checkpoint_tokens: int = 256
    embedding_bytes: int = 256 << 20

    @property
    def checkpoint_distance(self) -> int:
        """`checkpoint_tokens` as a multiple of the block size."""
        return max(1, self.checkpoint_tokens // self.block_size) * self.block_size

    @property
    def num_states(self) -> int:
        """Recurrent states of running sequences and checkpoints, where the model has some."""
        return self.max_sequences + self.num_checkpoints

    @property
    def cache_tokens(self) -> int:
        """Tokens whose keys and values fit the cache."""
        return self.cache_blocks * self.block_size
