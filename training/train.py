"""Train cactus-sprout: `python -m training.train --minutes 480`; a killed run resumes when it is started again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

from training.chat import MODEL_DIRECTORY, Chat
from training.corpus.curriculum import long_training_samples, training_samples
from training.export import RUN_DIRECTORY, export
from training.model import Decoder, Shape, rope_tables
from training.packing import Rows, batches, pack
from training.run import Defaults, Run, train_from_command_line
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
FORBIDDEN = -1e4


class TextTrainer:
    def __init__(self, directory: Path, minutes: float) -> None:
        self.tokenizer = self._tokenizer(directory)
        self.chat = Chat()
        self.shape = Shape()
        self.model = Decoder(self.shape)
        set_copying_start(self.model, SEED)
        self.run = Run(directory, minutes, self.model)
        self.cos, self.sin = rope_tables(self.shape, torch.arange(LONG_ROW_LENGTH))
        self.rng = np.random.default_rng(SEED)
        self.loss = torch.compile(self._loss, dynamic=False)

    def train_shard(self) -> str:
        started = time.monotonic()
        rows = self._rows()
        losses = [self._step(batch) for batch in batches(rows, BATCH_TOKENS // rows.tokens.shape[1])]
        return f"loss {np.mean(losses):.4f}  {SHARD_TOKENS / (time.monotonic() - started):6.0f} tokens/s"

    def _tokenizer(self, directory: Path) -> Tokenizer:
        path = directory / "tokenizer.json"
        if not path.exists():
            chat = Chat()
            samples = training_samples(SEED, -1, 0.5)
            texts = (
                chat.render(sample.messages, sample.tools) for _, sample in zip(range(60_000), samples, strict=False)
            )
            train_tokenizer(texts).save(str(path))
        return Tokenizer.from_file(str(path))

    def _rows(self) -> Rows:
        shard = self.run.progress.shard
        is_long = shard % LONG_SHARD_PERIOD == LONG_SHARD_PERIOD - 1
        make = long_training_samples if is_long else training_samples
        length = LONG_ROW_LENGTH if is_long else ROW_LENGTH
        samples = make(SEED, shard, self.run.done)

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

    def _step(self, rows: Rows) -> float:
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
        return self.run.step(loss)


def main() -> None:
    defaults = Defaults(480.0, RUN_DIRECTORY, MODEL_DIRECTORY)
    train_from_command_line(str(__doc__), defaults, SEED, TextTrainer, export)


if __name__ == "__main__":
    main()
