"""The engine of this project with pictures, in process, as one side of a comparison (see side.py and pictures.py).

python benchmarks/cactus_pictures_side.py MODEL.gguf MMPROJ.gguf WEIGHTS THREADS
"""

from __future__ import annotations

import json
import math
import sys
import time
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.cactus_side import BLOCK_SIZE, FIRST_ORDINARY_ID, TOKEN_BUDGET, PlaceholderTokenizer
from cactus_actors.config_models import WeightFormat
from cactus_actors.protocol.pictures import PictureTile, PreparedPicture
from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import Dispatch
from cactus_actors.workers.engine.engine import Engine
from cactus_actors.workers.engine.options import EngineLimits, TextOptions
from cactus_actors.workers.loading.load_model import load_model


class CactusPicturesSide:
    """A vision model, and a new engine for each measurement."""

    def __init__(self, path: Path, mmproj: Path, weights: WeightFormat, threads: int) -> None:
        self._model = load_model(path, mmproj, weights=weights, threads=threads)
        self._dispatch_ids = count(1)

    def about(self) -> dict[str, Any]:
        """Description of the side, for the printed table."""
        return {"kernels": self._model.kernels}

    def embeddings(self, width: int, height: int, seed: int, path: str) -> dict[str, float]:
        """Write the embeddings of a picture, (tokens, hidden), to a file of NumPy."""
        np.save(path, self._encoded(self._tile(width, height, seed)))
        return {}

    def encode(self, width: int, height: int, seed: int, clock: str) -> dict[str, float]:
        """Time of the encoder for one tile, by a clock of the module `time`."""
        tile = self._tile(width, height, seed)
        now = getattr(time, clock)
        started = now()
        self._encoded(tile)
        return {"seconds": now() - started, "tokens": 1}

    def questions(
        self, count: int, width: int, height: int, text_tokens: int, seed: int, until: str, clock: str
    ) -> dict[str, float]:
        """Time until the last of some questions has its first token, or until one has it on average.

        Each has a picture of its own between `text_tokens` tokens.
        """
        config, encoder = self._model.config, self._model.encoder
        assert encoder is not None, "the model reads pictures"
        limits = EngineLimits(
            cache_blocks=count * 16 + 16,
            block_size=BLOCK_SIZE,
            max_sequences=count,
            token_budget=TOKEN_BUDGET,
            max_step_s=math.inf,
        )
        engine = Engine(self._model, TextOptions(PlaceholderTokenizer(), frozenset()), limits)
        params = SamplingParams(max_tokens=1, ignore_eos=True, temperature=0.0)
        generator = np.random.default_rng(seed)
        dispatches = []
        for number in range(count):
            tile = self._tile(width, height, seed * 100 + number)
            before, after = generator.integers(FIRST_ORDINARY_ID, config.vocab_size - 1, (2, text_tokens)).tolist()
            prompt = [*before, *[encoder.image_token_id] * tile.num_tokens, *after]
            dispatch_id = next(self._dispatch_ids)
            pictures = [PreparedPicture.of([tile])]
            dispatches.append(Dispatch(dispatch_id, f"{dispatch_id:032x}", prompt, [], params, pictures=pictures))
        ends: list[float] = []
        now = getattr(time, clock)
        started = now()
        for dispatch in dispatches:
            engine.add(dispatch)
        while engine.has_work:
            deltas = engine.step()
            ends += [now() - started] * sum(len(delta.token_ids) for delta in deltas)
        assert len(ends) == count, "each question has one token"
        return {"seconds": max(ends) if until == "last" else sum(ends) / count, "tokens": 1}

    def _tile(self, width: int, height: int, seed: int) -> PictureTile:
        vision = self._model.config.vision
        assert vision is not None, "the model reads pictures"
        num_tokens = vision.num_tokens(width, height)
        assert num_tokens is not None, "it is a tile of this model"
        pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
        return PictureTile(width, height, num_tokens, pixels.tobytes())

    def _encoded(self, tile: PictureTile) -> NDArray[np.float32]:
        encoder = self._model.encoder
        assert encoder is not None, "the model reads pictures"
        encoder.begin(tile)
        while not encoder.advance():
            pass
        return encoder.embeddings()


def main() -> None:
    model, mmproj, weights, threads = sys.argv[1:]
    side = CactusPicturesSide(Path(model), Path(mmproj), weights, int(threads))  # type: ignore[arg-type]  # checked there
    for line in sys.stdin:
        request = json.loads(line)
        answer = getattr(side, request.pop("measurement"))(**request)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
