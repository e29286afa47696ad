"""Golden outputs of the families, and a model that runs one sequence at a time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cactus_actors.workers.engine.kv_cache import KVCache
from cactus_actors.workers.engine.model import Model
from cactus_actors.workers.engine.step_batch import Batch
from tests.support.paths import GOLDENS

NAMES = sorted(path.parent.name for path in GOLDENS.glob("*/config.json"))
BLOCK_SIZE = 16
TOLERANCE = 2e-4  # of the range of the logits: float32 in another order, through a few layers
NUM_GREEDY = 20


@dataclass(frozen=True)
class Golden:
    """A checkpoint's directory and the reference outputs of transformers."""

    directory: Path
    prompt_ids: list[int]
    positions: list[int]
    greedy_ids: list[int]
    logits: NDArray[np.float32]  # (positions, vocab)

    @classmethod
    def read(cls, name: str) -> Golden:
        directory = GOLDENS / name
        reference = json.loads((directory / "reference.json").read_text())
        return cls(
            directory=directory,
            prompt_ids=reference["prompt_ids"],
            positions=reference["positions"],
            greedy_ids=reference["greedy_ids"],
            logits=np.load(directory / "logits.npy"),
        )

    def error(self, logits: NDArray[np.float32]) -> float:
        """The error of logits (tokens, vocab) of the prompt, relative to the reference's range."""
        return float(np.abs(logits[self.positions] - self.logits).max() / np.ptp(self.logits))


@dataclass(frozen=True)
class SequenceChunk:
    """Tokens of one sequence from position `first` on, whose blocks are `blocks`."""

    token_ids: list[int]
    first: int
    blocks: Sequence[int]


def forward(model: Model, cache: KVCache, *chunks: SequenceChunk) -> list[NDArray[np.float32]]:
    """The logits (tokens, vocab) of each chunk, all computed in one step."""
    lengths = [len(chunk.token_ids) for chunk in chunks]
    tables = np.zeros((len(chunks), max(len(chunk.blocks) for chunk in chunks)), dtype=np.int32)
    for row, chunk in enumerate(chunks):
        tables[row, : len(chunk.blocks)] = chunk.blocks
    batch = Batch(
        token_ids=np.concatenate([chunk.token_ids for chunk in chunks]).astype(np.int32),
        positions=np.concatenate([chunk.first + np.arange(len(chunk.token_ids)) for chunk in chunks]).astype(np.int32),
        sequence_of_token=np.repeat(np.arange(len(chunks)), lengths).astype(np.int32),
        block_tables=tables,
        logit_rows=np.arange(sum(lengths), dtype=np.int32),
    )
    return np.split(model.forward(batch, cache).copy(), np.cumsum(lengths)[:-1])


def blocks_for(num_tokens: int) -> range:
    return range(-(-num_tokens // BLOCK_SIZE))


def prefill(
    model: Model, cache: KVCache, token_ids: list[int], blocks: Sequence[int], chunk_size: int
) -> NDArray[np.float32]:
    """The logits of all tokens of one sequence, `chunk_size` tokens per step."""
    steps = [
        forward(model, cache, SequenceChunk(token_ids[first : first + chunk_size], first, blocks))
        for first in range(0, len(token_ids), chunk_size)
    ]
    return np.concatenate([logits for (logits,) in steps])


def greedy(model: Model, prompt_ids: list[int], num_tokens: int, chunk_size: int = 1000) -> list[int]:
    """The likeliest continuation, token by token after a prefill in chunks."""
    blocks = blocks_for(len(prompt_ids) + num_tokens)
    cache = model.new_cache(len(blocks), BLOCK_SIZE)
    logits = prefill(model, cache, prompt_ids, blocks, chunk_size)
    token_ids = [*prompt_ids, int(logits[-1].argmax())]
    while len(token_ids) < len(prompt_ids) + num_tokens:
        (logits,) = forward(model, cache, SequenceChunk(token_ids[-1:], len(token_ids) - 1, blocks))
        token_ids.append(int(logits[-1].argmax()))
    return token_ids[len(prompt_ids) :]


def alone(model: Model, token_ids: list[int], chunk_size: int = 1000) -> NDArray[np.float32]:
    """The logits of a sequence that uses the model and the cache alone."""
    blocks = blocks_for(len(token_ids))
    return prefill(model, model.new_cache(len(blocks), BLOCK_SIZE), token_ids, blocks, chunk_size)
