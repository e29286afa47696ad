"""`python -m tests.goldens.errors`: how close each family is to transformers on the checkpoints of this folder.

Prints for each family the number of checkpoints and the largest difference of a log-probability in float32, from the
directories and from GGUF files, and fails if a greedy id differs.
"""

from __future__ import annotations

import os
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np

from cactus_actors.workers.families.registry import FAMILIES
from cactus_actors.workers.loading.load_model import load_model
from tests.goldens.to_gguf import write_gguf
from tests.support.models.golden_runs import NAMES, NUM_GREEDY, Golden, alone, greedy

NO_GGUF = {"gemma2-scalar", "lfm3"}
"""Checkpoints that no GGUF file can describe."""


def log_probabilities(logits: np.ndarray) -> np.ndarray:
    """The logarithm of the softmax of each row, in float64."""
    shifted = logits.astype(np.float64) - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def difference(golden: Golden, path: Path) -> tuple[str, float]:
    """The family of the model at `path`, and its largest difference from the reference."""
    model = load_model(path, weights="float32", threads=1)
    try:
        logits = alone(model, golden.prompt_ids)[golden.positions]
        assert greedy(model, golden.prompt_ids, NUM_GREEDY) == golden.greedy_ids, path
    finally:
        model.close()
    found = np.abs(log_probabilities(logits) - log_probabilities(golden.logits)).max()
    return model.config.family, float(found)


def main() -> None:
    found: dict[str, list[float]] = defaultdict(list)
    of_gguf: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as directory:
        os.environ["CACTUS_CACHE_DIR"] = directory
        for name in NAMES:
            golden = Golden.read(name)
            family, error = difference(golden, golden.directory)
            found[family].append(error)
            if name not in NO_GGUF:
                path = write_gguf(golden.directory, Path(directory) / f"{name}.gguf")
                of_gguf[family].append(difference(golden, path)[1])
    for family in FAMILIES:
        read, written = found[family.name], of_gguf[family.name]
        gguf = f"{max(written):.1e}" if written else "-"
        print(f"| {family.name} | {len(read)} | {max(read):.1e} | {gguf} |")


if __name__ == "__main__":
    main()
