"""Every model family against transformers, on the checkpoints and references of tests/goldens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from cactus_actors.workers.engine.model import Model
from cactus_actors.workers.loading.load_model import load_model
from tests.goldens.to_gguf import write_gguf
from tests.support.models.golden_runs import (
    BLOCK_SIZE,
    NAMES,
    NUM_GREEDY,
    TOLERANCE,
    Golden,
    SequenceChunk,
    alone,
    blocks_for,
    forward,
    greedy,
)

NO_GGUF = {"gemma2-scalar", "lfm3"}  # no scale of the queries in GGUF; no architecture


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


def test_logits_equal_those_of_transformers(golden: Golden, model: Model) -> None:
    assert golden.error(alone(model, golden.prompt_ids)) <= TOLERANCE


def test_greedy_ids_equal_those_of_transformers(golden: Golden, model: Model) -> None:
    assert greedy(model, golden.prompt_ids, NUM_GREEDY) == golden.greedy_ids


def test_chunks_of_a_prompt_change_no_logits(golden: Golden, model: Model) -> None:
    whole = alone(model, golden.prompt_ids)
    assert np.array_equal(alone(model, golden.prompt_ids, chunk_size=7), whole)
    assert greedy(model, golden.prompt_ids, NUM_GREEDY, chunk_size=7) == golden.greedy_ids


def test_a_batch_changes_no_logits(golden: Golden, model: Model) -> None:
    """Prefills of several lengths in one step, then one more token of each, in blocks in any order."""
    prompts = [golden.prompt_ids[:length] for length in (1, 19, len(golden.prompt_ids) - 1, 8)]
    next_ids = [golden.prompt_ids[len(prompt)] for prompt in prompts]
    num_blocks = [len(blocks_for(len(prompt) + 1)) for prompt in prompts]
    shuffled = np.random.default_rng(0).permutation(sum(num_blocks))
    tables = [table.tolist() for table in np.split(shuffled, np.cumsum(num_blocks)[:-1])]
    cache = model.new_cache(sum(num_blocks), BLOCK_SIZE, num_slots=len(prompts))

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


def test_a_gguf_file_has_the_same_logits(golden: Golden, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if golden.directory.name in NO_GGUF:
        pytest.skip("no GGUF file can say what this checkpoint says")
    monkeypatch.setenv("CACTUS_CACHE_DIR", str(tmp_path / "cache"))
    model = load_model(write_gguf(golden.directory, tmp_path / "model.gguf"), weights="float32", threads=1)
    error = golden.error(alone(model, golden.prompt_ids))
    greedy_ids = greedy(model, golden.prompt_ids, NUM_GREEDY)
    model.close()
    assert error <= TOLERANCE
    assert greedy_ids == golden.greedy_ids
