"""Train cactus-bloom: `python -m training.pictures.train --minutes 240`; a killed run resumes when it is started again.

The rates fall to zero over the given minutes. A checkpoint is kept in .cactus/training-pictures.
"""

from __future__ import annotations

import argparse
import os
import signal
import time
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

from training.optimisation import Optimisation
from training.pictures.export import MODEL_DIRECTORY, RUN_DIRECTORY, export
from training.pictures.lessons import all_wordings, lessons
from training.pictures.network import PictureNetwork, PictureShape, initialise
from training.pictures.rows import IMAGE, PREFIX, PictureRows, RowMaker, picture_tokenizer

SEED = 30
BATCH_ROWS = 48
BATCHES_OF_SHARD = 20
CHECKPOINT_SECONDS = 180.0
NUM_TEXTS = 4000
FORBIDDEN = -1e4


class Trainer:
    def __init__(self, directory: Path, minutes: float) -> None:
        self.directory = directory
        self.seconds = minutes * 60
        tokenizer = self._tokenizer()
        self.shape = PictureShape()
        self.maker = RowMaker(tokenizer, self.shape.vision)
        self.network = PictureNetwork(self.shape, self.maker.id_of(IMAGE))
        initialise(self.network, SEED)
        self.optimisation = Optimisation(self.network)
        self.elapsed, self.step, self.shard = 0.0, 0, 0
        self._is_stopping = False
        self.checkpoint = directory / "checkpoint.pt"
        if self.checkpoint.exists():
            state = torch.load(self.checkpoint, weights_only=True)
            self.optimisation.resume(state)
            self.elapsed, self.step, self.shard = state["seconds"], state["step"], state["shard"]

    def run(self) -> None:
        """Train until the time is over or `stop` is called, then save."""
        saved = time.monotonic()
        while self.elapsed < self.seconds and not self._is_stopping:
            started = time.monotonic()
            samples = lessons(SEED, self.shard, self.elapsed / self.seconds)
            losses = [self._step(self.maker.rows(samples, BATCH_ROWS)) for _ in range(BATCHES_OF_SHARD)]
            self.shard += 1
            taken = time.monotonic() - started
            self.elapsed += taken
            speed = BATCH_ROWS * BATCHES_OF_SHARD / taken
            place = f"{self.elapsed:7.0f} s  step {self.step:6d}"
            print(f"{place}  loss {np.mean(losses):.4f}  {speed:5.1f} pictures/s", flush=True)
            if time.monotonic() - saved > CHECKPOINT_SECONDS:
                self._save()
                saved = time.monotonic()
        self._save()

    def stop(self) -> None:
        """Make the current shard the last one for now."""
        self._is_stopping = True

    def _tokenizer(self) -> Tokenizer:
        path = self.directory / "tokenizer.json"
        if not path.exists():
            size = PictureShape().text.vocab_size
            picture_tokenizer(all_wordings(SEED, NUM_TEXTS), size).save(str(path))
        return Tokenizer.from_file(str(path))

    def _step(self, rows: PictureRows) -> float:
        loss = self._loss(rows)
        self.optimisation.step(loss, self.step, self.elapsed / self.seconds)
        self.step += 1
        return float(loss.item())

    def _loss(self, rows: PictureRows) -> Tensor:
        tokens = torch.from_numpy(rows.tokens)
        pictures = torch.from_numpy(rows.pictures).float() / 127.5 - 1
        [places] = np.nonzero(rows.weights.reshape(-1))
        targets = torch.from_numpy(np.roll(rows.tokens.reshape(-1), -1)[places])
        weights = torch.from_numpy(rows.weights.reshape(-1)[places])
        with torch.autocast("cpu", torch.bfloat16):
            hidden = self.network(pictures, tokens, torch.from_numpy(rows.positions), mask_of(rows))
            chosen = hidden.reshape(-1, hidden.shape[-1])[torch.from_numpy(places)]
            logits = functional.linear(chosen, self.network.decoder.embed_tokens.weight)
        losses = functional.cross_entropy(logits.float(), targets, reduction="none")
        return (losses * weights).sum() / weights.sum()

    def _save(self) -> None:
        counts = {"seconds": self.elapsed, "step": self.step, "shard": self.shard}
        unfinished = self.checkpoint.with_suffix(".part")
        torch.save({**self.optimisation.state(), **counts}, unfinished)
        unfinished.replace(self.checkpoint)


def mask_of(rows: PictureRows) -> Tensor:
    """(rows, 1, length, length): 0 where a token sees another one, else low."""
    documents = torch.from_numpy(rows.documents)
    seen = (documents[:, :, None] == documents[:, None, :]) | (documents[:, None, :] == PREFIX)
    return torch.where(seen.tril(), 0.0, FORBIDDEN)[:, None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=240.0, help="training time; the rate falls to zero over it")
    parser.add_argument(
        "--directory", type=Path, default=RUN_DIRECTORY, help="directory of the checkpoint and the tokenizer"
    )
    parser.add_argument("--model", type=Path, default=MODEL_DIRECTORY, help="directory of the final weights")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(options.threads)
    torch.manual_seed(SEED)
    trainer = Trainer(options.directory, options.minutes)
    signal.signal(signal.SIGTERM, lambda *_: trainer.stop())
    trainer.run()
    export(options.directory, options.model)


if __name__ == "__main__":
    main()
