"""Golden checkpoints with their heads for drafts."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cactus_actors.workers.engine.kv_cache import KVCache
from cactus_actors.workers.engine.model import DraftRows, Model
from tests.support.models.golden_runs import BLOCK_SIZE, Golden, SequenceChunk, blocks_for, forward
from tests.support.paths import GOLDENS

HEADS = GOLDENS / "with_draft_head"
NAMES = sorted(path.name for path in HEADS.iterdir())


@dataclass(frozen=True)
class GoldenHead:
    """A checkpoint whose head has a reference: drafts after the prompt and the first greedy id, and their logits."""

    golden: Golden
    draft_ids: list[int]
    logits: NDArray[np.float32]  # (drafts, vocab)

    @classmethod
    def read(cls, name: str) -> GoldenHead:
        reference = json.loads((HEADS / name / "reference.json").read_text())
        return cls(Golden.read(name), reference["draft_ids"], np.load(HEADS / name / "logits.npy"))

    def write(self, directory: Path) -> Path:
        """The whole checkpoint, as published ones are: the head in a file of its own."""
        directory.mkdir(parents=True, exist_ok=True)
        source = self.golden.directory
        config = json.loads((source / "config.json").read_text()) | {"mtp_num_hidden_layers": 1}
        (directory / "config.json").write_text(json.dumps(config))
        files = [source / "model.safetensors", HEADS / source.name / "head.safetensors"]
        names = [f"model-{number}-of-2.safetensors" for number in (1, 2)]
        for file, name in zip(files, names, strict=True):
            shutil.copy(file, directory / name)
        index = {"weight_map": {f"all of {name}": name for name in names}}
        (directory / "model.safetensors.index.json").write_text(json.dumps(index))
        return directory


def guessed(model: Model, token_ids: list[int], next_id: int, num_drafts: int, chunk_size: int) -> NDArray[np.float32]:
    """Logits (drafts, vocab) of the drafts after tokens, computed in chunks, and the next one."""
    blocks = blocks_for(len(token_ids) + num_drafts)
    cache = model.new_cache(len(blocks), BLOCK_SIZE)
    for first in range(0, len(token_ids), chunk_size):
        chunk = SequenceChunk(token_ids[first : first + chunk_size], first, blocks)
        forward(model, cache, chunk)
    hidden = model.last_hidden(len(chunk.token_ids))[-1:].copy()
    return guessed_after(model, cache, len(token_ids), next_id, hidden, num_drafts, blocks)


def guessed_after(
    model: Model,
    cache: KVCache,
    position: int,
    token_id: int,
    hidden: NDArray[np.float32],
    num_drafts: int,
    blocks: range,
) -> NDArray[np.float32]:
    """Logits of the drafts after a token, each draft taken as the next token."""
    head = model.draft_head
    assert head is not None
    logits = []
    for number in range(num_drafts):
        guesses = head.guess(
            DraftRows(
                np.array([token_id], np.int32),
                np.array([position + number], np.int32),
                np.array([position + number], np.int32),
                np.array([blocks], np.int32),
                hidden,
            ),
            cache,
            is_common=False,
        )
        logits.append(guesses.logits[0].copy())
        hidden, token_id = guesses.hidden.copy(), int(logits[-1].argmax())
    return np.stack(logits)
