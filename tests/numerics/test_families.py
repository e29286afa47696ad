"""Every model family against transformers, on the checkpoints and references of tests/goldens."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from cactus_actors.workers.engine.kv_cache import KVCache
from cactus_actors.workers.engine.model import Model
from cactus_actors.workers.engine.step_batch import Batch
from cactus_actors.workers.loading.load_model import load_model
from tests.goldens.to_gguf import write_gguf
from tests.support.paths import GOLDENS

NAMES = sorted(path.parent.name for path in GOLDENS.glob("*/config.json"))
NO_GGUF = {"gemma2-scalar"}  # GGUF does not carry its scale of the queries
BLOCK_SIZE = 16
TOLERANCE = 2e-4  # of the range of the logits: float32 in another order, through a handful of layers
NUM_GREEDY = 20


@dataclass(frozen=True)
class Golden:
    """A checkpoint's directory and what transformers computed from it."""

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
        """How far logits (tokens, vocab) of the prompt are off, of the reference's range."""
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
    """The logits of all tokens of one sequence, `chunk_size` tokens a step."""
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
    """The logits of a sequence that has the model and the cache to itself."""
    blocks = blocks_for(len(token_ids))
    return prefill(model, model.new_cache(len(blocks), BLOCK_SIZE), token_ids, blocks, chunk_size)


@pytest.fixture(scope="module", params=NAMES)
def golden(request: pytest.FixtureRequest) -> Golden:
    return Golden.read(request.param)


@pytest.fixture(scope="module")
def model(golden: Golden, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CACTUS_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        model = load_model(golden.directory, weights="float32", threads=1)
        yield model
        model.close()


def test_logits_are_those_of_transformers(golden: Golden, model: Model) -> None:
    assert golden.error(alone(model, golden.prompt_ids)) <= TOLERANCE


def test_greedy_ids_are_those_of_transformers(golden: Golden, model: Model) -> None:
    assert greedy(model, golden.prompt_ids, NUM_GREEDY) == golden.greedy_ids


def test_chunks_of_a_prompt_change_nothing(golden: Golden, model: Model) -> None:
    whole = alone(model, golden.prompt_ids)
    assert np.array_equal(alone(model, golden.prompt_ids, chunk_size=7), whole)
    assert greedy(model, golden.prompt_ids, NUM_GREEDY, chunk_size=7) == golden.greedy_ids


def test_a_batch_changes_nothing(golden: Golden, model: Model) -> None:
    """Prefills of several lengths in one step, then one more token of each, in blocks that lie anywhere."""
    prompts = [golden.prompt_ids[:length] for length in (1, 19, len(golden.prompt_ids) - 1, 8)]
    next_ids = [golden.prompt_ids[len(prompt)] for prompt in prompts]
    num_blocks = [len(blocks_for(len(prompt) + 1)) for prompt in prompts]
    shuffled = np.random.default_rng(0).permutation(sum(num_blocks))
    tables = [table.tolist() for table in np.split(shuffled, np.cumsum(num_blocks)[:-1])]
    cache = model.new_cache(sum(num_blocks), BLOCK_SIZE)

    together = forward(
        model, cache, *(SequenceChunk(prompt, 0, table) for prompt, table in zip(prompts, tables, strict=True))
    )
    after = forward(
        model,
        cache,
        *(
            SequenceChunk([next_id], len(prompt), table)
            for prompt, next_id, table in zip(prompts, next_ids, tables, strict=True)
        ),
    )
    for prompt, next_id, first, second in zip(prompts, next_ids, together, after, strict=True):
        assert np.array_equal(np.concatenate([first, second]), alone(model, [*prompt, next_id]))


def test_gguf_gives_the_same(golden: Golden, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if golden.directory.name in NO_GGUF:
        pytest.skip("no GGUF file can say what this checkpoint says")
    monkeypatch.setenv("CACTUS_CACHE_DIR", str(tmp_path / "cache"))
    model = load_model(write_gguf(golden.directory, tmp_path / "model.gguf"), weights="float32", threads=1)
    error = golden.error(alone(model, golden.prompt_ids))
    greedy_ids = greedy(model, golden.prompt_ids, NUM_GREEDY)
    model.close()
    assert error <= TOLERANCE
    assert greedy_ids == golden.greedy_ids
