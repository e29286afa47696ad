"""Compares the encoders of pairs of GGUF files with llama.cpp's: python -m tests.goldens.mtmd_embeddings LLAMA_PYTHON

LLAMA_PYTHON is a Python with llama-cpp-python in an environment of its own. A line has the largest difference of an
embedding from llama.cpp's, of the range of all, for pictures that both sides take as one tile.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.side import Side
from cactus_actors.protocol.pictures import PictureTile, PreparedPicture
from cactus_actors.workers.loading.load_model import load_model
from tests.goldens.to_mmproj import write_pair
from tests.support.models.picture_runs import PictureGolden, encoded
from tests.support.paths import ROOT

CASES: tuple[tuple[str, int, int, int], ...] = (
    ("smolvlm", 24, 24, 4),
    ("idefics3", 30, 30, 25),
    ("lfm2vl", 64, 64, 64),
    ("lfm2vl", 40, 120, 75),
    ("gemma3", 30, 30, 25),
    ("gemma4", 80, 64, 80),
    ("qwen3vl", 40, 32, 20),
    ("qwen3vl", 24, 48, 18),
    ("qwen3vl-moe", 40, 32, 20),
)
"""Checkpoint, width, height and number of embeddings of a picture, which have the features of several layers."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("llama_python", help="a Python with llama_cpp")
    llama_python = parser.parse_args().llama_python
    for name, width, height, num_tokens in CASES:
        with tempfile.TemporaryDirectory() as scratch:
            difference = difference_of(name, width, height, num_tokens, Path(scratch), llama_python)
        print(f"{name:11} {width:4} x {height:<4} {difference:.1e}")


def difference_of(name: str, width: int, height: int, num_tokens: int, scratch: Path, llama_python: str) -> float:
    directory = scratch / "model"
    shutil.copytree(PictureGolden.read(name).directory, directory)
    config = json.loads((directory / "config.json").read_text())
    config["vision_config"]["hidden_act"] = "gelu_pytorch_tanh"  # which GGUF files stand for
    (directory / "config.json").write_text(json.dumps(config))
    changes: dict[str, Any] = {}
    if name in ("smolvlm", "idefics3") and width == height:
        changes = {"clip.vision.preproc_image_size": width}  # one tile
    if name == "gemma4":
        changes = {"clip.use_gelu": True}  # llama.cpp's files of Gemma 4 have it not, so that it takes another GELU
    pair = write_pair(directory, scratch / "files", changes=changes)
    model = load_model(*pair, weights="float32", threads=1)
    assert model.encoder is not None, "the pair has an encoder"
    pixels = np.random.default_rng(0).integers(0, 256, (height, width, 3), np.uint8)
    picture = PreparedPicture.of([PictureTile(width, height, num_tokens, pixels.tobytes())])
    ours = encoded(model.encoder, picture)
    model.close()
    command = [llama_python, str(ROOT / "benchmarks/mtmd_side.py"), *map(str, pair), "1"]
    theirs = scratch / "embeddings.npy"
    with Side("llama.cpp", command, {"PYTHONPATH": str(ROOT)}) as side:
        side.ask("embeddings", width=width, height=height, seed=0, path=str(theirs))
    return float(np.abs(ours - np.load(theirs)).max() / np.ptp(ours))


if __name__ == "__main__":
    main()
