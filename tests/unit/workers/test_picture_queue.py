"""Pictures are encoded beside running sequences, once each, and within their share of the time."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.pictures import PictureTile, PreparedPicture
from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import Dispatch
from cactus_actors.workers.engine.embedding_cache import EmbeddingCache
from cactus_actors.workers.engine.engine import Engine
from cactus_actors.workers.engine.options import EngineLimits, TextOptions
from tests.support.models.chain_models import ChainModel
from tests.support.models.sampler_cases import NoBytes

IMAGE = 3
PARTS = 5
PART_S, STEP_S = 0.03, 0.01


class Clock:
    """A time that encoders and models move on."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class PlayedEncoder:
    """A tile of w x h pixels has w embeddings, and PARTS parts of PART_S seconds; one of no pixel fails."""

    image_token_id = IMAGE
    token_side = 0

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.log: list[str] = []
        self._tile: PictureTile | None = None
        self._num_parts = 0

    def check(self, tile: PictureTile) -> None:
        if tile.num_tokens != tile.width:
            raise InvalidRequest("no such tile", param="images")

    def begin(self, tile: PictureTile) -> None:
        self.log.append(f"tile {tile.pixels.decode()}")
        self._tile, self._num_parts = tile, 0

    def advance(self) -> bool:
        assert self._tile is not None
        if not self._tile.pixels:
            raise RuntimeError("broken")
        self._clock.now += PART_S
        self.log.append("part")
        self._num_parts += 1
        return self._num_parts == PARTS

    def embeddings(self):
        assert self._tile is not None
        return np.full((self._tile.width, 4), float(self._tile.pixels[0]), np.float32)


class SeeingModel(ChainModel):
    """Notes its steps, and the embeddings that are given to it by position."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.played = self.encoder = PlayedEncoder(self.clock)
        self.given: dict[int, float] = {}

    def forward(self, batch, cache):
        self.clock.now += STEP_S
        self.played.log.append("step")
        if batch.given is not None:
            for at, row in zip(batch.given_at.tolist(), batch.given.tolist(), strict=True):
                self.given[int(batch.positions[at])] = row[0]
        return super().forward(batch, cache)


def picture(*names: str, width: int = 2) -> PreparedPicture:
    return PreparedPicture.of([PictureTile(width, 1, width, name.encode()) for name in names])


def question(number: int, *pictures: PreparedPicture, salt: str = "", max_tokens: int = 3) -> Dispatch:
    placeholders = sum(tile.num_tokens for each in pictures for tile in each.tiles)
    prompt_ids = [1, *[IMAGE] * placeholders, 2]
    params = SamplingParams(max_tokens=max_tokens, ignore_eos=True)
    return Dispatch(number, f"{number:032x}", prompt_ids, [], params, cache_salt=salt, pictures=list(pictures))


@pytest.fixture
def model() -> SeeingModel:
    return SeeingModel()


@pytest.fixture
def engine(model: SeeingModel) -> Engine:
    return Engine(
        model,
        TextOptions(NoBytes(), []),
        EngineLimits(cache_blocks=100, block_size=4, max_step_s=math.inf, embedding_bytes=4 * 16),
        clock=model.clock,
    )


def run(engine: Engine) -> dict[int, str | None]:
    """The error of each dispatch, or None, when all have ended."""
    ends: dict[int, str | None] = {}
    while engine.has_work:
        for delta in engine.step():
            if delta.finish is not None:
                error = delta.finish.error
                ends[delta.dispatch_id] = None if error is None else error.message
    return ends


def test_embeddings_take_the_places_of_placeholders(engine: Engine, model: SeeingModel) -> None:
    engine.add(question(1, picture("a", "b"), picture("c")))
    assert run(engine) == {1: None}
    assert model.given == {1: 97.0, 2: 97.0, 3: 98.0, 4: 98.0, 5: 99.0, 6: 99.0}


def test_a_question_waits_for_its_picture_and_text_does_not(engine: Engine, model: SeeingModel) -> None:
    engine.add(question(1, picture("a")))
    engine.add(question(2, max_tokens=40))
    steps_without = []
    while engine.has_work:
        seen = {delta.dispatch_id for delta in engine.step()}
        steps_without.append(1 not in seen and 2 in seen)
    assert sum(steps_without) > PARTS
    log = "".join(entry[0] for entry in model.played.log if entry in ("part", "step"))
    # A part costs as much as three steps, which come between it and the next one.
    assert [2 <= len(steps) <= 4 for steps in log.split("p")[1:PARTS]] == [True] * (PARTS - 1)


def test_without_others_a_step_encodes_several_parts(engine: Engine, model: SeeingModel) -> None:
    engine.add(question(1, picture("abc")))
    engine.step()
    assert model.played.log.count("part") == 4  # until 0.1 s are over
    assert "step" not in model.played.log


def test_a_picture_for_which_several_wait_is_encoded_once(engine: Engine, model: SeeingModel) -> None:
    for number in range(4):
        engine.add(question(number, picture("a")))
    engine.add(question(9, picture("a"), salt="other"))
    assert set(run(engine)) == {0, 1, 2, 3, 9}
    assert model.played.log.count("tile a") == 2
    assert (engine.counters.encoded_pictures, engine.counters.cached_pictures) == (2, 0)


def test_the_cache_forgets_the_least_recently_used(engine: Engine, model: SeeingModel) -> None:
    a, b, c = (picture(name) for name in "abc")  # two of them fit
    for number, each in enumerate((a, b, a, c, a, b)):
        engine.add(question(number, each))
        run(engine)
    assert [entry for entry in model.played.log if entry.startswith("tile")] == [
        "tile a",
        "tile b",
        "tile c",
        "tile b",
    ]
    assert (engine.counters.encoded_pictures, engine.counters.cached_pictures) == (4, 2)


def test_an_aborted_question_is_not_encoded_further(engine: Engine, model: SeeingModel) -> None:
    engine.add(question(1, picture("a")))
    engine.add(question(2, picture("b")))
    engine.step()
    engine.abort(1)
    assert run(engine) == {2: None}
    assert model.played.log.count("part") < 2 * PARTS + 1
    engine.add(question(3, picture("c")))
    engine.abort_all()
    assert not engine.has_work


def test_a_picture_that_cannot_be_encoded_fails_its_questions_alone(engine: Engine) -> None:
    engine.add(question(1, picture("a"), max_tokens=30))
    engine.add(question(2, picture("")))
    engine.add(question(3, picture("b")))
    ends = run(engine)
    assert ends[1] is ends[3] is None
    assert "picture could not be encoded" in str(ends[2])


def test_pictures_that_do_not_fit_are_refused(engine: Engine) -> None:
    one = question(1, picture("a"))
    engine.add(Dispatch(1, one.job_id, [1, IMAGE, 2], [], one.params, pictures=one.pictures))
    engine.add(Dispatch(2, one.job_id, [1, 2], [], one.params, pictures=one.pictures))
    wide = PreparedPicture.of([PictureTile(2, 1, 3, b"a")])
    engine.add(question(3, wide))
    ends = run(engine)
    assert "1 placeholder tokens" in str(ends[1])
    assert "0 placeholder tokens" in str(ends[2])
    assert ends[3] == "no such tile"


def test_a_model_without_an_encoder_refuses_pictures() -> None:
    engine = Engine(ChainModel(), TextOptions(NoBytes(), []), EngineLimits(cache_blocks=10, block_size=4))
    engine.add(question(1, picture("a")))
    assert "reads no pictures" in str(run(engine)[1])


def test_embeddings_are_bounded_in_bytes() -> None:
    cache = EmbeddingCache(100)
    for number in range(10):
        cache.put(("", bytes([number])), np.zeros((number % 3 + 1, 4), np.float32))
        assert cache.num_bytes <= 100
    assert cache.get(("", bytes([9]))) is not None
    assert cache.get(("", bytes([0]))) is None
    cache.put(("", b"large"), np.zeros((100, 4), np.float32))
    assert cache.get(("", b"large")) is None
