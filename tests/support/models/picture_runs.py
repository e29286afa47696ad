"""Golden outputs of the models that read pictures, and runs of an engine with pictures."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from cactus_actors.protocol.pictures import PreparedPicture
from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import Dispatch, SequenceDelta
from cactus_actors.workers.engine.engine import Engine
from cactus_actors.workers.engine.model import Model, TileEncoder
from cactus_actors.workers.engine.sequence_pictures import SequencePictures
from cactus_actors.workers.engine.step_batch import Batch
from cactus_actors.workers.loading.load_model import load_model
from tests.support.models.golden_runs import BLOCK_SIZE, blocks_for
from tests.support.models.random_pictures import random_picture
from tests.support.paths import GOLDENS

PICTURE_GOLDENS = sorted(path.parent.name for path in GOLDENS.glob("with_pictures/*/config.json"))


@dataclass(frozen=True)
class PictureGolden:
    """A checkpoint's directory, the pictures of its prompt, and what transformers computed from them."""

    directory: Path
    prompt_ids: list[int]
    pictures: list[PreparedPicture]
    positions: list[int]
    greedy_ids: list[int]
    logits: NDArray[np.float32]  # (positions, vocab)

    @classmethod
    def read(cls, name: str) -> PictureGolden:
        directory = GOLDENS / "with_pictures" / name
        reference = json.loads((directory / "reference.json").read_text())
        return cls(
            directory=directory,
            prompt_ids=reference["prompt_ids"],
            pictures=[
                random_picture(sizes, reference["seed"], number) for number, sizes in enumerate(reference["pictures"])
            ],
            positions=reference["positions"],
            greedy_ids=reference["greedy_ids"],
            logits=np.load(directory / "logits.npy"),
        )


@contextmanager
def loaded(golden: PictureGolden, cache: Path) -> Iterator[Model]:
    """The model of a checkpoint in float32, on one thread; its packed weights are in the directory `cache`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CACTUS_CACHE_DIR", str(cache))
        model = load_model(golden.directory, weights="float32", threads=1)
        yield model
        model.close()


def encoded(encoder: TileEncoder, picture: PreparedPicture) -> NDArray[np.float32]:
    """The embeddings of a picture, (tokens, hidden)."""
    tiles = []
    for tile in picture.tiles:
        encoder.check(tile)
        encoder.begin(tile)
        while not encoder.advance():
            pass
        tiles.append(encoder.embeddings())
    return np.concatenate(tiles)


def logits_with(
    model: Model, prompt_ids: list[int], prepared: list[PreparedPicture], chunk_size: int = 1000
) -> NDArray[np.float32]:
    """The logits (tokens, vocab) of a prompt with pictures, `chunk_size` tokens a step, or a tile that stays whole."""
    encoder = model.encoder
    assert encoder is not None, "the model reads pictures"
    pictures = SequencePictures(
        prepared,
        prompt_ids,
        encoder.image_token_id,
        "",
        sees_whole_tiles=model.config.sees_whole_tiles,
        token_side=encoder.token_side,
    )
    for key, picture in list(pictures.unencoded.items()):
        pictures.take(key, encoded(encoder, picture))
    num_tokens = len(prompt_ids)
    blocks = blocks_for(num_tokens)
    cache = model.new_cache(len(blocks), BLOCK_SIZE)
    logits = []
    end = 0
    while end < num_tokens:
        first, end = end, min(end + chunk_size, num_tokens)
        if pictures.whole_tiles is not None:
            _, end = pictures.whole_tiles.cut(first, end, num_tokens)
        positions = np.arange(first, end, dtype=np.int32)
        found = pictures.within(first, end)
        batch = Batch(
            token_ids=np.array(prompt_ids[first:end], np.int32),
            positions=positions,
            sequence_of_token=np.zeros(end - first, np.int32),
            block_tables=np.array([blocks], np.int32),
            logit_rows=np.arange(end - first, dtype=np.int32),
            given=None if found is None else found[1],
            given_at=None if found is None else found[0] - first,
            ends=None if pictures.whole_tiles is None else pictures.whole_tiles.ends_of(positions),
            rotary_positions=None if pictures.axes is None else pictures.axes.within(first, end),
        )
        logits.append(model.forward(batch, cache).copy())
    return np.concatenate(logits)


def log_probabilities(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    """Logarithms of the softmax of each row."""
    shifted = logits.astype(np.float64) - logits.max(axis=-1, keepdims=True)
    found: NDArray[np.float64] = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return found


def dispatch_of(
    golden: PictureGolden,
    dispatch_id: int = 1,
    *,
    suffix: Iterable[int] = (),
    pictures: list[PreparedPicture] | None = None,
    emitted: Iterable[int] = (),
    salt: str = "",
    **params: object,
) -> Dispatch:
    """The golden's prompt, with other tokens after it or other pictures, to be continued greedily."""
    options = {"max_tokens": 12, "temperature": 0.0, "ignore_eos": True, **params}
    return Dispatch(
        dispatch_id,
        f"{dispatch_id:032x}",
        [*golden.prompt_ids, *suffix],
        list(emitted),
        SamplingParams(**options),  # type: ignore[arg-type]
        cache_salt=salt,
        pictures=golden.pictures if pictures is None else pictures,
    )


def run_all(engine: Engine, dispatches: Iterable[Dispatch]) -> dict[int, list[SequenceDelta]]:
    """All deltas of each dispatch."""
    deltas: dict[int, list[SequenceDelta]] = {}
    for dispatch in dispatches:
        deltas[dispatch.dispatch_id] = []
        engine.add(dispatch)
    while engine.has_work:
        for delta in engine.step():
            deltas[delta.dispatch_id].append(delta)
    return deltas


def tokens_of(deltas: Iterable[SequenceDelta]) -> list[int]:
    """The token ids of one dispatch."""
    return [token_id for delta in deltas for token_id in delta.token_ids]
