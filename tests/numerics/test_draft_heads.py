"""The heads for drafts: their logits against a reference of transformers' layers, and by == in any batch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from cactus_actors.config_models import WeightFormat
from cactus_actors.workers.engine.model import DraftRows, Guesses, Model
from cactus_actors.workers.loading.load_model import load_model
from cactus_actors.workers.runtime.draft_head import COMMON_TOKENS
from tests.support.models.draft_heads import NAMES, GoldenHead, guessed
from tests.support.models.drafting_models import drafting_config, drafting_model
from tests.support.models.golden_runs import BLOCK_SIZE, TOLERANCE, SequenceChunk, alone, blocks_for, forward


@pytest.fixture(scope="module", params=NAMES)
def head(request: pytest.FixtureRequest) -> GoldenHead:
    return GoldenHead.read(request.param)


@pytest.fixture(scope="module")
def directory(head: GoldenHead, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return head.write(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def model(directory: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CACTUS_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        model = load_model(directory, weights="float32", threads=1, drafts=True)
        yield model
        model.close()


def test_drafts_equal_those_of_the_reference(head: GoldenHead, model: Model) -> None:
    golden = head.golden
    logits = guessed(model, golden.prompt_ids, golden.greedy_ids[0], len(head.draft_ids), chunk_size=1000)
    assert np.abs(logits - head.logits).max() <= TOLERANCE * np.ptp(head.logits)
    assert logits.argmax(axis=1).tolist() == head.draft_ids


def test_chunks_of_a_prompt_change_no_draft(head: GoldenHead, model: Model) -> None:
    golden = head.golden
    whole = guessed(model, golden.prompt_ids, golden.greedy_ids[0], 4, chunk_size=1000)
    for chunk_size in (1, 7):
        assert np.array_equal(guessed(model, golden.prompt_ids, golden.greedy_ids[0], 4, chunk_size), whole)


def test_the_head_changes_no_logits_of_the_model(
    head: GoldenHead, model: Model, directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CACTUS_CACHE_DIR", str(tmp_path))
    plain = load_model(directory, weights="float32", threads=1)
    assert plain.draft_head is None
    assert np.array_equal(alone(model, head.golden.prompt_ids), alone(plain, head.golden.prompt_ids))
    assert plain.num_weights < model.num_weights
    plain.close()


def test_a_batch_changes_no_draft(head: GoldenHead, model: Model) -> None:
    """Two prompts in one step and their drafts in one, in blocks in any order."""
    assert model.draft_head is not None
    prompts, next_ids = [head.golden.prompt_ids, head.golden.prompt_ids[:19]], [5, 9]
    tables = [[6, 1, 4, 0], [5, 3, 2, 7]]
    cache = model.new_cache(8, BLOCK_SIZE, num_slots=2)
    forward(model, cache, *(SequenceChunk(prompt, 0, table) for prompt, table in zip(prompts, tables, strict=True)))
    ends = np.cumsum([len(prompt) for prompt in prompts]) - 1
    positions = np.array([len(prompt) for prompt in prompts], np.int32)
    guesses = model.draft_head.guess(
        DraftRows(
            np.array(next_ids, np.int32),
            positions,
            positions,
            np.array(tables, np.int32),
            model.last_hidden(sum(map(len, prompts)))[ends],
        ),
        cache,
        is_common=False,
    )
    for prompt, next_id, logits in zip(prompts, next_ids, guesses.logits.copy(), strict=True):
        assert len(blocks_for(len(prompt) + 1)) <= 4
        assert np.array_equal(guessed(model, prompt, next_id, 1, chunk_size=1000)[0], logits)


@pytest.mark.parametrize(
    "weights",
    ["float32", "int8", pytest.param("bfloat16", marks=pytest.mark.slow), pytest.param("int4", marks=pytest.mark.slow)],
)
def test_logits_of_common_tokens_are_those_of_all_tokens(weights: WeightFormat) -> None:
    """The first tokens of a large vocabulary, in each format of the output layer."""
    model = drafting_model(drafting_config(vocab_size=2 * COMMON_TOKENS + 40), weights=weights)
    head = model.draft_head
    assert head is not None
    assert head.num_common == COMMON_TOKENS
    cache = model.new_cache(2, BLOCK_SIZE)
    hidden = np.random.default_rng(0).standard_normal((2, model.config.hidden_size)).astype(np.float32)
    tables = np.array([[0], [1]], np.int32)
    positions = np.array([3, 1], np.int32)
    rows = DraftRows(np.array([5, 100_000], np.int32), positions, positions, tables, hidden)
    common = head.guess(rows, cache, is_common=True)
    common = Guesses(common.logits.copy(), common.hidden.copy())
    whole = head.guess(rows, cache, is_common=False)
    assert whole.logits.shape == (2, model.config.vocab_size)
    assert np.array_equal(common.logits, whole.logits[:, :COMMON_TOKENS])
    assert np.array_equal(common.hidden, whole.hidden)
    assert np.isfinite(whole.logits).all()
    model.close()


def test_a_small_vocabulary_has_no_common_tokens(model: Model) -> None:
    assert model.draft_head is not None
    assert model.draft_head.num_common == model.config.vocab_size
