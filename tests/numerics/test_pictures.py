"""Models that read pictures, against transformers; and the same tokens whatever surrounds a question."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from cactus_actors.protocol.pictures import PictureTile
from cactus_actors.workers.engine.engine import Engine
from cactus_actors.workers.engine.model import Model
from cactus_actors.workers.engine.options import EngineLimits, TextOptions
from cactus_actors.workers.loading.load_model import load_model
from cactus_actors.workers.runtime import patch_encoder
from tests.support.models.picture_runs import (
    PICTURE_GOLDENS,
    PictureGolden,
    dispatch_of,
    encoded,
    loaded,
    log_probabilities,
    logits_with,
    run_all,
    tokens_of,
)
from tests.support.models.random_pictures import like
from tests.support.models.sampler_cases import NoBytes

TOLERANCE = 1e-3
"""Of a log probability, in float32."""


class CountingEncoder:
    """An encoder that counts the tiles it begins."""

    def __init__(self, encoder):
        self._encoder = encoder
        self.num_tiles = 0

    @property
    def image_token_id(self):
        return self._encoder.image_token_id

    @property
    def token_side(self):
        return self._encoder.token_side

    def check(self, tile):
        self._encoder.check(tile)

    def begin(self, tile):
        self.num_tiles += 1
        self._encoder.begin(tile)

    def advance(self):
        return self._encoder.advance()

    def embeddings(self):
        return self._encoder.embeddings()


@pytest.fixture(scope="module", params=PICTURE_GOLDENS)
def golden(request: pytest.FixtureRequest) -> PictureGolden:
    return PictureGolden.read(request.param)


@pytest.fixture(scope="module")
def model(golden: PictureGolden, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    with loaded(golden, tmp_path_factory.mktemp("cache")) as model:
        yield model


@pytest.fixture
def encoder(model: Model, monkeypatch: pytest.MonkeyPatch) -> CountingEncoder:
    counting = CountingEncoder(model.encoder)
    monkeypatch.setattr(model, "encoder", counting)
    return counting


def make_engine(model: Model, *, cache_blocks: int = 100, token_budget: int = 256, max_drafts: int = 0) -> Engine:
    limits = EngineLimits(
        cache_blocks=cache_blocks, token_budget=token_budget, max_drafts=max_drafts, max_step_s=math.inf
    )
    return Engine(model, TextOptions(NoBytes(), []), limits)


def test_log_probabilities_are_those_of_transformers(golden: PictureGolden, model: Model) -> None:
    found = log_probabilities(logits_with(model, golden.prompt_ids, golden.pictures))[golden.positions]
    assert np.abs(found - log_probabilities(golden.logits)).max() <= TOLERANCE


def test_pieces_of_an_encoder_change_no_bit(
    golden: PictureGolden, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    largest = max((tile for picture in golden.pictures for tile in picture.tiles), key=lambda tile: len(tile.pixels))
    whole, num_parts = encoded_in_pieces(model, largest)
    for limit in ("MAX_ROWS", "MAX_PAIRS", "KEPT_PATCHES"):
        monkeypatch.setattr(patch_encoder, limit, 1)
    found, num_pieces = encoded_in_pieces(model, largest)
    assert np.array_equal(found, whole)
    assert (num_pieces > num_parts) == (largest.num_tokens > patch_encoder.ROWS_OF_GROUP)


def encoded_in_pieces(model: Model, tile: PictureTile) -> tuple[NDArray[np.float32], int]:
    """The embeddings of a tile, and the number of pieces."""
    assert model.encoder is not None
    model.encoder.begin(tile)
    num_pieces = 1
    while not model.encoder.advance():
        num_pieces += 1
    return model.encoder.embeddings(), num_pieces


def test_greedy_ids_are_those_of_transformers(golden: PictureGolden, model: Model) -> None:
    deltas = run_all(make_engine(model), [dispatch_of(golden, max_tokens=len(golden.greedy_ids))])
    assert tokens_of(deltas[1]) == golden.greedy_ids


def test_chunks_that_cut_pictures_change_no_bit(golden: PictureGolden, model: Model) -> None:
    whole = logits_with(model, golden.prompt_ids, golden.pictures)
    for chunk_size in (1, 7, 32):
        assert np.array_equal(logits_with(model, golden.prompt_ids, golden.pictures, chunk_size), whole)


def test_a_batch_small_chunks_and_drafts_change_no_token(golden: PictureGolden, model: Model) -> None:
    others = [[like(each, 5, number) for each in golden.pictures] for number in range(3)]
    questions = [dispatch_of(golden, 1), *(dispatch_of(golden, 2 + i, pictures=each) for i, each in enumerate(others))]
    alone = {each.dispatch_id: tokens_of(run_all(make_engine(model), [each])[each.dispatch_id]) for each in questions}
    assert len({tuple(tokens) for tokens in alone.values()}) > 1, "pictures matter"
    for engine in (make_engine(model), make_engine(model, token_budget=9), make_engine(model, max_drafts=4)):
        together = run_all(engine, questions)
        assert {number: tokens_of(deltas) for number, deltas in together.items()} == alone


def test_preempted_and_continued_questions_have_the_same_tokens(golden: PictureGolden, model: Model) -> None:
    expected = golden.greedy_ids[:40]
    blocks = -(-(len(golden.prompt_ids) + 40) // 16)
    engine = make_engine(model, cache_blocks=2 * blocks - 2)
    deltas = run_all(engine, [dispatch_of(golden, number, max_tokens=40, cache_prompt=False) for number in (1, 2)])
    assert engine.counters.preemptions > 0
    assert [tokens_of(deltas[number]) for number in (1, 2)] == [expected, expected]
    continued = run_all(make_engine(model), [dispatch_of(golden, max_tokens=40, emitted=expected[:9])])
    assert tokens_of(continued[1]) == expected[9:]


def test_a_second_question_about_the_same_pictures_encodes_and_computes_none_of_them(
    golden: PictureGolden, model: Model, encoder: CountingEncoder
) -> None:
    engine = make_engine(model)
    run_all(engine, [dispatch_of(golden, 1)])
    num_tiles = encoder.num_tiles
    assert num_tiles == sum(len(picture.tiles) for picture in golden.pictures)
    second = run_all(engine, [dispatch_of(golden, 2, suffix=[5, 6, 7] * 6)])
    assert encoder.num_tiles == num_tiles
    assert second[2][-1].cached_tokens == len(golden.prompt_ids) // 16 * 16
    fresh = run_all(make_engine(model), [dispatch_of(golden, 2, suffix=[5, 6, 7] * 6)])
    assert tokens_of(second[2]) == tokens_of(fresh[2])


def test_another_picture_shares_no_block_and_another_salt_no_embedding(
    golden: PictureGolden, model: Model, encoder: CountingEncoder
) -> None:
    engine = make_engine(model)
    run_all(engine, [dispatch_of(golden, 1)])
    num_tiles = encoder.num_tiles
    first, *rest = golden.pictures
    other = like(first, 77)
    deltas = run_all(engine, [dispatch_of(golden, 2, pictures=[other, *rest])])
    assert deltas[2][-1].cached_tokens == 0
    assert encoder.num_tiles == num_tiles + len(other.tiles)
    run_all(engine, [dispatch_of(golden, 3, salt="tenant")])
    assert encoder.num_tiles == 2 * num_tiles + len(other.tiles)


def test_threads_and_the_tile_before_change_no_bit(golden: PictureGolden, model: Model) -> None:
    two = load_model(golden.directory, weights="float32", threads=2)
    assert model.encoder is not None
    assert two.encoder is not None
    first, second = (encoded(model.encoder, golden.pictures[0]) for _ in range(2))
    on_two = encoded(two.encoder, golden.pictures[0])
    two.close()
    assert np.array_equal(first, second)
    assert np.array_equal(first, on_two)


def test_text_of_such_a_model_needs_no_picture(golden: PictureGolden, model: Model) -> None:
    dispatch = dispatch_of(golden, pictures=[])
    deltas = run_all(make_engine(model), [dispatch])
    assert len(tokens_of(deltas[1])) == 12
