"""Models whose pictures' tokens attend to each other: the same bits whatever prefix, rows and steps."""

from __future__ import annotations

import dataclasses
import math
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from cactus_actors.workers.engine.engine import Engine
from cactus_actors.workers.engine.model import Model
from cactus_actors.workers.engine.options import EngineLimits, TextOptions
from cactus_actors.workers.engine.scheduler import MAX_PROMPT_ROWS
from cactus_actors.workers.engine.step_batch import Batch
from cactus_actors.workers.loading.load_model import load_model
from tests.support.models.golden_runs import alone
from tests.support.models.picture_runs import (
    PictureGolden,
    dispatch_of,
    loaded,
    log_probabilities,
    logits_with,
    run_all,
    tokens_of,
)
from tests.support.models.random_pictures import like
from tests.support.models.sampler_cases import NoBytes

SUFFIX = [5, 6, 7]


@pytest.fixture(scope="module", params=["gemma3", "gemma3-untied", "gemma4-whole"])
def golden(request: pytest.FixtureRequest) -> PictureGolden:
    return PictureGolden.read(request.param)


@pytest.fixture(scope="module")
def model(golden: PictureGolden, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    with loaded(golden, tmp_path_factory.mktemp("cache")) as model:
        yield model


@pytest.fixture
def batches(model: Model, monkeypatch: pytest.MonkeyPatch) -> list[Batch]:
    """The batches that the model computes from now on."""
    taken: list[Batch] = []
    forward = model.forward

    def recorded(batch, cache):
        taken.append(batch)
        return forward(batch, cache)

    monkeypatch.setattr(model, "forward", recorded)
    return taken


def make_engine(model: Model, *, token_budget: int = 256) -> Engine:
    limits = EngineLimits(cache_blocks=100, token_budget=token_budget, max_step_s=math.inf)
    return Engine(model, TextOptions(NoBytes(), []), limits)


def ending_with_a_picture(golden: PictureGolden) -> PictureGolden:
    """The prompt as far as its last picture, whose tile begins and ends within blocks."""
    image_token_id = max(set(golden.prompt_ids), key=golden.prompt_ids.count)
    end = len(golden.prompt_ids) - golden.prompt_ids[::-1].index(image_token_id)
    return dataclasses.replace(golden, prompt_ids=golden.prompt_ids[:end])


def test_a_cached_prefix_may_end_within_a_tile(golden: PictureGolden, model: Model) -> None:
    begun = ending_with_a_picture(golden)
    num_cached = len(begun.prompt_ids) // 16 * 16
    assert num_cached > len(begun.prompt_ids) - begun.pictures[-1].tiles[-1].num_tokens, "it ends within the last tile"
    second = dispatch_of(begun, 2, suffix=SUFFIX)
    expected = tokens_of(run_all(make_engine(model), [second])[2])
    for token_budget in (256, 9):
        engine = make_engine(model, token_budget=token_budget)
        run_all(engine, [dispatch_of(begun, 1)])
        deltas = run_all(engine, [second])[2]
        assert deltas[-1].cached_tokens == num_cached
        assert tokens_of(deltas) == expected


def test_a_tile_is_computed_in_one_step_beside_a_sequence_that_decodes(
    golden: PictureGolden, model: Model, batches: list[Batch]
) -> None:
    image_token_id = model.encoder.image_token_id if model.encoder else -1
    questions = [dispatch_of(golden, 1), dispatch_of(golden, 2, pictures=[like(each, 7) for each in golden.pictures])]
    run_all(make_engine(model, token_budget=9), questions)
    sizes = {tile.num_tokens for picture in golden.pictures for tile in picture.tiles}
    for batch in batches:
        num_placeholders = int((batch.token_ids == image_token_id).sum())
        assert num_placeholders in {0, *sizes}
        assert len(batch.token_ids) <= max(9, num_placeholders + 9)
    assert max(len(batch.token_ids) for batch in batches) >= max(sizes)


def test_log_probabilities_of_the_prompt_need_no_larger_step_of_logits(
    golden: PictureGolden, model: Model, batches: list[Batch]
) -> None:
    dispatch = dispatch_of(golden, max_tokens=2, prompt_logprobs=True)
    reported = {}
    for token_budget in (256, 9):
        deltas = run_all(make_engine(model, token_budget=token_budget), [dispatch])[1]
        reported[token_budget] = [
            logprob for delta in deltas if delta.extras and delta.extras.prompt for logprob, _ in delta.extras.prompt
        ]
    assert reported[256][1:] == reported[9][1:]
    assert max(len(batch.logit_rows) for batch in batches) <= MAX_PROMPT_ROWS + 1
    ids = golden.prompt_ids
    found = log_probabilities(logits_with(model, ids, golden.pictures))
    expected = found[np.arange(len(ids) - 1), ids[1:]]
    assert np.abs(np.array(reported[256][1:]) - expected).max() < 1e-4


def test_placeholders_that_are_not_a_tile_are_refused(golden: PictureGolden, model: Model) -> None:
    ids = list(golden.prompt_ids)
    ids.insert(3, ids.pop(0))  # a text token into the first tile
    deltas = run_all(make_engine(model), [dispatch_of(dataclasses.replace(golden, prompt_ids=ids))])[1]
    finish = deltas[-1].finish
    assert finish is not None
    assert finish.error is not None
    assert (finish.error.type, finish.error.param) == ("invalid_request_error", "images")
    assert "adjacent" in finish.error.message


def test_text_has_the_bits_of_the_model_without_pictures(golden: PictureGolden, model: Model, tmp_path: Path) -> None:
    for name in ("config.json", "model.safetensors"):
        shutil.copy(golden.directory / name, tmp_path)
    of_text = load_model(tmp_path, weights="float32", threads=1)
    assert of_text.encoder is None
    ids = [token_id % 150 for token_id in golden.prompt_ids]
    expected = alone(of_text, ids)
    of_text.close()
    for chunk_size in (1000, 7):
        assert np.array_equal(alone(model, ids, chunk_size), expected)
