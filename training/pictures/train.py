"""Train cactus-bloom: `python -m training.pictures.train --minutes 240`; a killed run resumes when it is started again.

The rates fall to zero over the given minutes. A checkpoint is kept in .cactus/training-pictures.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

from training.chat import PICTURE_MODEL_DIRECTORY
from training.pictures.export import RUN_DIRECTORY, export
from training.pictures.lessons import all_wordings, lessons
from training.pictures.network import PictureNetwork, PictureShape, initialise
from training.pictures.rows import IMAGE, PREFIX, PictureRows, RowMaker, picture_tokenizer
from training.run import Defaults, Run, train_from_command_line

SEED = 30
BATCH_ROWS = 48
BATCHES_OF_SHARD = 20
NUM_TEXTS = 4000
FORBIDDEN = -1e4
# The weights of the losses of the cells' and the patches' labels, and in them the weight of an empty place.
LABEL_WEIGHT = 0.3
EMPTY_WEIGHT = 0.1
PATCH_WEIGHT = 0.2
# The number of a batch's tokens that enter the loss: the answers first, then random tokens of questions.
NUM_PREDICTED = 2560


class PictureTrainer:
    def __init__(self, directory: Path, minutes: float) -> None:
        shape = PictureShape()
        self.maker = RowMaker(self._tokenizer(directory), shape.vision)
        self.network = PictureNetwork(shape, self.maker.id_of(IMAGE), self.maker.picture_start)
        initialise(self.network, SEED)
        self.run = Run(directory, minutes, self.network)
        self.rng = np.random.default_rng(SEED)
        self.loss = torch.compile(self._loss, dynamic=False)

    def train_shard(self) -> str:
        started = time.monotonic()
        samples = lessons(SEED, self.run.progress.shard, self.run.done)
        batches = (self.maker.rows(samples, BATCH_ROWS) for _ in range(BATCHES_OF_SHARD))
        losses = [self._step(rows) for rows in batches]
        speed = BATCH_ROWS * BATCHES_OF_SHARD / (time.monotonic() - started)
        return f"loss {np.mean(losses):.4f}  {speed:5.1f} pictures/s"

    def _tokenizer(self, directory: Path) -> Tokenizer:
        path = directory / "tokenizer.json"
        if not path.exists():
            size = PictureShape().text.vocab_size
            picture_tokenizer(all_wordings(SEED, NUM_TEXTS), size).save(str(path))
        return Tokenizer.from_file(str(path))

    def _step(self, rows: PictureRows) -> float:
        flat = rows.weights.reshape(-1)
        places = np.argsort(-flat - 0.01 * self.rng.random(flat.size))[:NUM_PREDICTED]
        targets = np.roll(rows.tokens.reshape(-1), -1)[places]
        arrays = (rows.pictures, rows.tokens, rows.positions, places, targets, flat[places], rows.cells, rows.patches)
        return self.run.step(self.loss(mask_of(rows), *map(torch.from_numpy, arrays)))

    def _loss(
        self,
        mask: Tensor,
        pictures: Tensor,
        tokens: Tensor,
        positions: Tensor,
        places: Tensor,
        targets: Tensor,
        weights: Tensor,
        cells: Tensor,
        patches: Tensor,
    ) -> Tensor:
        network = self.network
        with torch.autocast("cpu", torch.bfloat16):
            hidden, embedded, states = network(pictures.float() / 127.5 - 1, tokens, positions, mask)
            chosen = hidden.reshape(-1, hidden.shape[-1])[places]
            logits = functional.linear(chosen, network.decoder.embed_tokens.weight)
        losses = functional.cross_entropy(logits.float(), targets, reduction="none")
        answers = (losses * weights).sum() / weights.sum()
        of_cells = _label_loss(embedded, cells, network.kind_of_cell, network.colour_of_cell)
        of_patches = _label_loss(states, patches, network.kind_of_patch, network.colour_of_patch)
        return answers + LABEL_WEIGHT * of_cells + PATCH_WEIGHT * of_patches


def _label_loss(states: Tensor, labels: Tensor, kind: nn.Linear, colour: nn.Linear) -> Tensor:
    """The loss of the labels (rows, 2, places): a picture teaches the encoder more in this way than by answers."""
    loss = torch.zeros(())
    for head, wanted in zip((kind, colour), labels.unbind(1), strict=True):
        logits = head(states.float()).flatten(0, 1)
        weights = torch.ones(logits.shape[1])
        weights[0] = EMPTY_WEIGHT
        loss = loss + functional.cross_entropy(logits, wanted.reshape(-1), weights)
    return loss


def mask_of(rows: PictureRows) -> Tensor:
    """(rows, 1, length, length): 0 where a token sees another one, else low."""
    documents = torch.from_numpy(rows.documents)
    seen = (documents[:, :, None] == documents[:, None, :]) | (documents[:, None, :] == PREFIX)
    return torch.where(seen.tril(), 0.0, FORBIDDEN)[:, None]


def main() -> None:
    defaults = Defaults(240.0, RUN_DIRECTORY, PICTURE_MODEL_DIRECTORY)
    train_from_command_line(str(__doc__), defaults, SEED, PictureTrainer, export)


if __name__ == "__main__":
    main()
