"""Train cactus-bloom: `python -m training.pictures.train --minutes 240`; a killed run resumes when it is started again.

The rates fall to zero over the given minutes. A checkpoint is kept in .cactus/training-pictures.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor
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
# The weight of the loss of the cells' labels, and in it the weight of an empty cell.
LABEL_WEIGHT = 0.3
EMPTY_WEIGHT = 0.1


class PictureTrainer:
    def __init__(self, directory: Path, minutes: float) -> None:
        shape = PictureShape()
        self.maker = RowMaker(self._tokenizer(directory), shape.vision)
        self.network = PictureNetwork(shape, self.maker.id_of(IMAGE))
        initialise(self.network, SEED)
        self.run = Run(directory, minutes, self.network)

    def train_shard(self) -> str:
        started = time.monotonic()
        samples = lessons(SEED, self.run.progress.shard, self.run.done)
        batches = (self.maker.rows(samples, BATCH_ROWS) for _ in range(BATCHES_OF_SHARD))
        losses = [self.run.step(self._loss(rows)) for rows in batches]
        speed = BATCH_ROWS * BATCHES_OF_SHARD / (time.monotonic() - started)
        return f"loss {np.mean(losses):.4f}  {speed:5.1f} pictures/s"

    def _tokenizer(self, directory: Path) -> Tokenizer:
        path = directory / "tokenizer.json"
        if not path.exists():
            size = PictureShape().text.vocab_size
            picture_tokenizer(all_wordings(SEED, NUM_TEXTS), size).save(str(path))
        return Tokenizer.from_file(str(path))

    def _loss(self, rows: PictureRows) -> Tensor:
        tokens = torch.from_numpy(rows.tokens)
        pictures = torch.from_numpy(rows.pictures).float() / 127.5 - 1
        [places] = np.nonzero(rows.weights.reshape(-1))
        targets = torch.from_numpy(np.roll(rows.tokens.reshape(-1), -1)[places])
        weights = torch.from_numpy(rows.weights.reshape(-1)[places])
        with torch.autocast("cpu", torch.bfloat16):
            hidden, embedded = self.network(pictures, tokens, torch.from_numpy(rows.positions), mask_of(rows))
            chosen = hidden.reshape(-1, hidden.shape[-1])[torch.from_numpy(places)]
            logits = functional.linear(chosen, self.network.decoder.embed_tokens.weight)
        losses = functional.cross_entropy(logits.float(), targets, reduction="none")
        answers = (losses * weights).sum() / weights.sum()
        return answers + LABEL_WEIGHT * self._label_loss(embedded, torch.from_numpy(rows.labels))

    def _label_loss(self, embedded: Tensor, labels: Tensor) -> Tensor:
        """The loss of the cells' kinds and colours: a picture teaches the encoder more in this way than by answers."""
        loss = torch.zeros(())
        for head, of_cells in zip(
            (self.network.kind_of_cell, self.network.colour_of_cell), labels.unbind(1), strict=True
        ):
            logits = head(embedded.float()).flatten(0, 1)
            weights = torch.ones(logits.shape[1])
            weights[0] = EMPTY_WEIGHT
            loss = loss + functional.cross_entropy(logits, of_cells.reshape(-1), weights)
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
