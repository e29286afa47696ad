"""Models whose every token depends on all tokens before it, through numbers in the blocks and slots of the cache."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cactus_actors.workers.engine.kv_cache import KVCache
from cactus_actors.workers.engine.step_batch import Batch
from tests.support.models.fake_model import FakeModel

VOCAB = 4
BLOCK_SIZE = 4


def extended(state: int, token_id: int) -> int:
    """The cache entry of a token: a hash of the entry before it and the token."""
    return (state * 6364136223846793005 + token_id * 1442695040888963407 + 1013904223) % 2**61


def next_token(state: int) -> int:
    return (state >> 20) % VOCAB


class ChainModel(FakeModel):
    """Stores one number per token in the blocks of the cache; a wrong block changes all later tokens."""

    def __init__(self) -> None:
        super().__init__(VOCAB)
        self._states: dict[tuple[int, int], int] = {}

    def forward(self, batch: Batch, cache: KVCache) -> NDArray[np.float32]:
        states = []
        for token, position, row in zip(
            batch.token_ids.tolist(),
            batch.positions.tolist(),
            batch.sequence_of_token.tolist(),
            strict=True,
        ):
            before = self._states[self._place(batch, row, position - 1)] if position else 0
            states.append(extended(before, token))
            self._states[self._place(batch, row, position)] = states[-1]
        logits = np.zeros((len(batch.logit_rows), VOCAB), dtype=np.float32)
        for row, token in enumerate(batch.logit_rows.tolist()):
            logits[row, next_token(states[token])] = 1.0
        return logits

    def _place(self, batch: Batch, row: int, position: int) -> tuple[int, int]:
        return int(batch.block_tables[row, position // BLOCK_SIZE]), position % BLOCK_SIZE


class RecurrentChainModel(ChainModel):
    """Reads the number before a sequence's tokens from a slot, like a recurrent state, not from the block before."""

    slot_size = 1

    def __init__(self) -> None:
        super().__init__()
        self._slots: dict[int, int] = {}

    def forward(self, batch: Batch, cache: KVCache) -> NDArray[np.float32]:
        logits = super().forward(batch, cache)
        assert batch.states is not None
        for row, (source, slot, num_known, save_after, save_slot) in enumerate(batch.states.tolist()):
            tokens = np.flatnonzero(batch.sequence_of_token == row).tolist()
            state = 0 if source < 0 else self._slots[source]
            for number, token in enumerate(tokens, start=1):
                state = extended(state, int(batch.token_ids[token]))
                assert state == self._states[self._place(batch, row, int(batch.positions[token]))]
                if number == save_after:
                    assert number <= num_known
                    assert save_slot != slot
                    self._slots[save_slot] = state
                if number == num_known:
                    self._slots[slot] = state
        return logits


def completion(prompt_ids: list[int], num_tokens: int) -> list[int]:
    """The model's continuation of a prompt, computed from its definition."""
    state = 0
    for token in prompt_ids:
        state = extended(state, token)
    token_ids: list[int] = []
    for _ in range(num_tokens):
        token_ids.append(next_token(state))
        state = extended(state, token_ids[-1])
    return token_ids
