"""The interface of models that an engine runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from cactus_actors.protocol.pictures import PictureTile
    from cactus_actors.workers.engine.cache_cost import CacheCost
    from cactus_actors.workers.engine.kv_cache import KVCache
    from cactus_actors.workers.engine.step_batch import Batch
    from cactus_actors.workers.spec.model_config import ModelConfig


class TileEncoder(Protocol):
    """Computes the embeddings of one tile of a picture at a time, in pieces."""

    @property
    def image_token_id(self) -> int:
        """The token in whose places embeddings of pictures stand."""

    @property
    def token_side(self) -> int:
        """The side in pixels of an embedding's square, if tokens have positions on several axes; 0 otherwise."""

    def check(self, tile: PictureTile) -> None:
        """Raise InvalidRequest for a tile that does not fit this model."""

    def begin(self, tile: PictureTile) -> None:
        """Begin a tile; the one before it is dropped."""

    def advance(self) -> bool:
        """Compute the next part of the tile, such as a layer; returns True if it was the last one."""

    def embeddings(self) -> NDArray[np.float32]:
        """The embeddings of the complete tile, (tokens, hidden), as an array of the caller.

        Features that later layers add to the tokens are beside the embeddings, if the model has some.
        """


class DraftRows(NamedTuple):
    """The next token of some sequences, each with the hidden state that it was sampled from.

    Their rotary embeddings are those of `rotary_positions`, which differ from the positions after pictures with
    positions on several axes.
    """

    token_ids: NDArray[np.int32]  # (rows,)
    positions: NDArray[np.int32]  # (rows,)
    rotary_positions: NDArray[np.int32]  # (rows,)
    block_tables: NDArray[np.int32]  # (rows, max_blocks)
    hidden: NDArray[np.float32]  # (rows, hidden)


class Guesses(NamedTuple):
    """For each row, logits of the token after it, and a hidden state in the place of the one they are sampled from."""

    logits: NDArray[np.float32]  # (rows, vocab), or of the first `num_common` tokens
    hidden: NDArray[np.float32]  # (rows, hidden)


class TokenGuesser(Protocol):
    """Guesses tokens ahead of the model, by a head that reads the model's hidden states and a part of its cache."""

    @property
    def num_common(self) -> int:
        """Number of the first tokens of the vocabulary among which guesses are much faster; all if there is none."""

    def guess(self, rows: DraftRows, cache: KVCache, *, is_common: bool) -> Guesses:
        """Guesses for the next rows, of common tokens alone if `is_common`.

        The cache must have all positions before those of the rows. Views until the next call.
        """


class Model(Protocol):
    """Computes forward passes; `close` stops its threads."""

    @property
    def config(self) -> ModelConfig:
        """The shape of the model."""

    @property
    def num_weights(self) -> int:
        """Number of weights."""

    @property
    def kernels(self) -> str:
        """Name of the instruction set of its kernels."""

    @property
    def slot_size(self) -> int:
        """Floats of the recurrent state of a sequence; 0 for models without one."""

    @property
    def encoder(self) -> TileEncoder | None:
        """The encoder of pictures; None for models of text."""

    @property
    def draft_head(self) -> TokenGuesser | None:
        """The head for drafts; None for models without it or loaded without it."""

    def new_cache(self, num_blocks: int, block_size: int = 16, num_slots: int = 1) -> KVCache:
        """An empty cache for this model's keys and values, and slots if it has recurrent states."""

    def cache_cost(self, block_size: int = 16) -> CacheCost:
        """The memory of a block and of a slot of such a cache."""

    def forward(self, batch: Batch, cache: KVCache) -> NDArray[np.float32]:
        """Logits (rows, vocab) of `batch.logit_rows`, a view valid until the next call."""

    def logit_stats(self, num_rows: int) -> NDArray[np.float32] | None:
        """Statistics of the last logits (see `logit_stats_width`), a view; None: the sampler computes them."""

    def hidden_states(self, batch: Batch, cache: KVCache) -> NDArray[np.float32]:
        """Hidden states of `batch.logit_rows` after the last norm, (rows, hidden), a view as well."""

    def last_hidden(self, num_rows: int) -> NDArray[np.float32]:
        """The hidden states that the last logits were computed from, (rows, hidden), a view as well."""

    def tapped_states(self, num_rows: int) -> dict[int, NDArray[np.float32]]:
        """By number of layers, the hidden states of those rows after so many, (rows, hidden), views as well.

        They are those of the last batch's `tapped_layers` that the model can tap, and maybe of others.
        """

    def remove_adapter(self, slot: int) -> None:
        """Forget the adapter of this slot, which no later batch has."""

    def close(self) -> None:
        """Stop the threads."""
