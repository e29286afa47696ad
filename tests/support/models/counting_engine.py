"""An engine whose model counts upwards, one letter per token, and tokenizers of given pieces."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import Dispatch, Finish, SequenceDelta
from cactus_actors.workers.engine.cache_cost import CacheCost
from cactus_actors.workers.engine.engine import Engine
from cactus_actors.workers.engine.kv_cache import CacheShape, KVCache
from cactus_actors.workers.engine.options import EngineLimits, TextOptions
from cactus_actors.workers.engine.step_batch import Batch
from cactus_actors.workers.kernels.cache_formats import cached_layers
from cactus_actors.workers.spec.model_config import Layer, ModelConfig
from cactus_actors.workers.spec.rotary import Rope


class PieceTokenizer:
    """Token i is pieces[i]."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = pieces

    def token_bytes(self, token_id: int) -> bytes:
        return self._pieces[token_id]


VOCAB = 64
END_ID = 40
NOT_FINITE, EXPLODES = 50, 60
CONFIG = ModelConfig(
    family="counting",
    vocab_size=VOCAB,
    hidden_size=4,
    ffn_size=4,
    num_heads=1,
    num_kv_heads=1,
    head_dim=4,
    norm_eps=1.0,
    max_context=64,
    tie_embeddings=True,
    ropes=(Rope(10000.0, 4),),
    layers=(Layer(),),
)

SHAPE = CacheShape(cached_layers([(1, 4)]))


class CountingModel:
    """After token n the most likely token is n + 1, then n + 2; NOT_FINITE gives NaN logits, EXPLODES an exception."""

    config = CONFIG
    num_weights = 1
    slot_size = 0
    encoder = None
    draft_head = None
    kernels = "none"

    def new_cache(self, num_blocks: int, block_size: int = 16, num_slots: int = 0) -> KVCache:
        return KVCache.allocate(SHAPE, num_blocks, block_size)

    def last_hidden(self, num_rows: int) -> NDArray[np.float32]:
        raise NotImplementedError

    def cache_cost(self, block_size: int = 16) -> CacheCost:
        return SHAPE.cost(block_size, "float32")

    def forward(self, batch: Batch, cache: KVCache) -> NDArray[np.float32]:
        if EXPLODES in batch.token_ids:
            raise RuntimeError("boom")
        last = batch.token_ids[batch.logit_rows]
        logits = np.zeros((last.size, VOCAB), dtype=np.float32)
        logits[np.arange(last.size), (last + 1) % VOCAB] = 9.0
        logits[np.arange(last.size), (last + 2) % VOCAB] = 8.0
        logits[last == NOT_FINITE] = np.nan
        return logits

    def logit_stats(self, num_rows: int) -> None:
        return None

    def hidden_states(self, batch: Batch, cache: KVCache) -> NDArray[np.float32]:
        raise NotImplementedError

    def tapped_states(self, num_rows: int) -> dict[int, NDArray[np.float32]]:
        raise NotImplementedError

    def remove_adapter(self, slot: int) -> None:
        raise NotImplementedError

    def close(self) -> None:
        pass


class LetterTokenizer:
    """Token 0 is "a", token 26 "a" again."""

    def token_bytes(self, token_id: int) -> bytes:
        return bytes([97 + token_id % 26])


def make_engine(*, cache_blocks: int = 32, max_sequences: int = 4, token_budget: int = 32) -> Engine:
    return Engine(
        CountingModel(),
        TextOptions(LetterTokenizer(), [END_ID]),
        EngineLimits(cache_blocks=cache_blocks, block_size=4, max_sequences=max_sequences, token_budget=token_budget),
    )


def dispatch(
    prompt_ids: list[int], *, dispatch_id: int = 1, emitted_ids: tuple[int, ...] = (), **params: object
) -> Dispatch:
    options = {"max_tokens": 5, **params}
    return Dispatch(dispatch_id, "0" * 32, prompt_ids, list(emitted_ids), SamplingParams(**options))  # type: ignore[arg-type]


def run(engine: Engine, *dispatches: Dispatch) -> list[SequenceDelta]:
    for each in dispatches:
        engine.add(each)
    deltas = []
    while engine.has_work:
        deltas += engine.step()
    return deltas


def outcome(deltas: list[SequenceDelta]) -> tuple[list[int], str, Finish | None]:
    """Token ids, text and finish reason of one sequence's deltas."""
    tokens = [token for delta in deltas for token in delta.token_ids]
    return tokens, "".join(delta.text for delta in deltas), deltas[-1].finish


def error_type(delta: SequenceDelta) -> str:
    assert delta.finish is not None
    assert delta.finish.error is not None
    return delta.finish.error.type
