"""Train cactus-sprout: `python -m training.train --minutes 480`; a killed run resumes when it is started again."""

from __future__ import annotations

import argparse
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch._inductor import config as compiler
from torch.nn import functional

from training.chat import MODEL_DIRECTORY, Chat
from training.corpus.curriculum import long_training_samples, training_samples
from training.export import RUN_DIRECTORY, export
from training.model import Decoder, Shape, rope_tables
from training.optimisation import Optimisation
from training.packing import Rows, batches, pack
from training.start import set_copying_start
from training.vocabulary import train_tokenizer

SEED = 20
BATCH_TOKENS = 8192
SHARD_TOKENS = 16 * BATCH_TOKENS
ROW_LENGTH = 256
# One shard in this number has rows as long as the model's context, filled with long conversations.
LONG_ROW_LENGTH = 1024
LONG_SHARD_PERIOD = 8
# The number of a batch's 8192 tokens that enter the loss: the answers first, then random prompt tokens.
NUM_PREDICTED = 3584
PROMPT_WEIGHT = 0.15
CHECKPOINT_SECONDS = 180.0
FORBIDDEN = -1e4


@dataclass(slots=True)
class Progress:
    """The state of a run that a checkpoint keeps besides the tensors."""

    seconds: float = 0.0
    step: int = 0
    shard: int = 0
    losses: list[float] = field(default_factory=list)


class Trainer:
    def __init__(self, directory: Path, minutes: float) -> None:
        self.directory = directory
        self.seconds = minutes * 60
        self.tokenizer = self._tokenizer()
        self.chat = Chat()
        self.shape = Shape()
        self.model = Decoder(self.shape)
        set_copying_start(self.model, SEED)
        self.optimisation = Optimisation(self.model)
        self.progress = Progress()
        self._is_stopping = False
        self.cos, self.sin = rope_tables(self.shape, torch.arange(LONG_ROW_LENGTH))
        self.rng = np.random.default_rng(SEED)
        self.loss = torch.compile(self._loss, dynamic=False)
        if self.checkpoint.exists():
            self._resume()

    @property
    def checkpoint(self) -> Path:
        return self.directory / "checkpoint.pt"

    def run(self) -> None:
        """Train until the time is over or `stop` is called, then save."""
        saved = time.monotonic()
        while self.progress.seconds < self.seconds and not self._is_stopping:
            began = time.monotonic()
            rows_of_shard = self._shard()
            for rows in batches(rows_of_shard, BATCH_TOKENS // rows_of_shard.tokens.shape[1]):
                self._step(rows)
            self.progress.shard += 1
            self.progress.seconds += time.monotonic() - began
            self._log(time.monotonic() - began)
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
            chat = Chat()
            samples = training_samples(SEED, -1, 0.5)
            texts = (
                chat.render(sample.messages, sample.tools) for _, sample in zip(range(60_000), samples, strict=False)
            )
            train_tokenizer(texts).save(str(path))
        return Tokenizer.from_file(str(path))

    def _shard(self) -> Rows:
        done = self.progress.seconds / self.seconds
        is_long = self.progress.shard % LONG_SHARD_PERIOD == LONG_SHARD_PERIOD - 1
        make = long_training_samples if is_long else training_samples
        length = LONG_ROW_LENGTH if is_long else ROW_LENGTH
        samples = make(SEED, self.progress.shard, done)

        def counted() -> Iterator[tuple[list[int], list[bool]]]:
            for sample in samples:
                yield self.chat.tokens_and_answers(self.tokenizer, sample)

        return pack(counted(), SHARD_TOKENS // length, length, PROMPT_WEIGHT)

    def _loss(self, tokens: Tensor, mask: Tensor, places: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            length = tokens.shape[1]
            hidden, _ = self.model(tokens, self.cos[:length], self.sin[:length], mask)
            logits = functional.linear(
                hidden.reshape(-1, self.shape.hidden_size)[places], self.model.embed_tokens.weight
            )
        losses = functional.cross_entropy(logits.float(), targets, reduction="none")
        return (losses * weights).sum() / weights.sum()

    def _step(self, rows: Rows) -> None:
        documents = torch.from_numpy(rows.documents)
        same = (documents[:, :, None] == documents[:, None, :]).tril()
        mask = torch.where(same, 0.0, FORBIDDEN)[:, None]  # (rows, 1, tokens, tokens)
        flat = rows.weights.reshape(-1)
        order = np.argsort(-flat - 0.01 * self.rng.random(flat.size))[:NUM_PREDICTED]
        targets = np.roll(rows.tokens.reshape(-1), -1)[order]
        loss = self.loss(
            torch.from_numpy(rows.tokens),
            mask,
            torch.from_numpy(order),
            torch.from_numpy(targets),
            torch.from_numpy(flat[order]),
        )
        self.optimisation.step(loss, self.progress.step, self.progress.seconds / self.seconds)
        self.progress.step += 1
        self.progress.losses.append(loss.item())

    def _log(self, seconds: float) -> None:
        num_batches = SHARD_TOKENS // BATCH_TOKENS
        loss = float(np.mean(self.progress.losses[-num_batches:]))
        self.progress.losses = self.progress.losses[-num_batches:]
        speed = SHARD_TOKENS / seconds
        at = f"{self.progress.seconds:7.0f} s  step {self.progress.step:6d}"
        print(f"{at}  loss {loss:.4f}  {speed:6.0f} tokens/s", flush=True)

    def _save(self) -> None:
        state = {
            **self.optimisation.state(),
            "seconds": self.progress.seconds,
            "step": self.progress.step,
            "shard": self.progress.shard,
        }
        unfinished = self.checkpoint.with_suffix(".part")
        torch.save(state, unfinished)
        unfinished.replace(self.checkpoint)

    def _resume(self) -> None:
        state = torch.load(self.checkpoint, weights_only=True)
        self.optimisation.resume(state)
        self.progress = Progress(state["seconds"], state["step"], state["shard"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=480.0, help="training time; the rate falls to zero over it")
    parser.add_argument(
        "--directory", type=Path, default=RUN_DIRECTORY, help="directory of the checkpoint and the tokenizer"
    )
    parser.add_argument("--model", type=Path, default=MODEL_DIRECTORY, help="directory of the final weights")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(options.threads)
    # PyTorch 2.13 compiles loads of transposed bfloat16 tensors to wrong values with AVX-512: gradients were NaN.
    compiler.cpp.simdlen = 256
    torch.manual_seed(SEED)
    trainer = Trainer(options.directory, options.minutes)
    signal.signal(signal.SIGTERM, lambda *_: trainer.stop())
    trainer.run()
    export(options.directory, options.model)


if __name__ == "__main__":
    main()
