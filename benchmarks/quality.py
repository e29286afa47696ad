"""Quality of weight and cache formats: the distance of each from float32 on the same text.

python -m benchmarks.quality --model cactus-sprout
python -m benchmarks.quality --model model.gguf --text stories.txt
python -m benchmarks.quality --model model.gguf --own-texts 32

Without a text, the text is conversations of the embedded model's corpus that it was not trained on.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from cactus_actors.config_models import DEFAULT_MODEL, CacheFormat, WeightFormat
from cactus_actors.models.catalog import resolve_model
from cactus_actors.text import TextModel, load_text_model
from cactus_actors.workers.engine.kv_cache import KVCache
from cactus_actors.workers.engine.model import Model
from cactus_actors.workers.engine.step_batch import Batch
from cactus_actors.workers.loading.load_model import load_model
from training.corpus.registry import evaluation_samples

BLOCK_SIZE = 16
STEP_TOKENS = 128
SEED = 11  # the seed of held-out questions that no other code uses

Document = Sequence[int]
Formats = tuple[WeightFormat, CacheFormat]

REFERENCE: Formats = ("float32", "float32")
CANDIDATES: tuple[Formats, ...] = (
    ("float32", "float16"),
    ("float32", "int8"),
    ("bfloat16", "float16"),
    ("int8", "float32"),
    ("int8", "float16"),
    ("int8", "int8"),
    ("int4", "float16"),
    ("int4", "int8"),
)


@dataclass
class Comparison:
    """Predictions of two models for the same tokens after the same prefix."""

    _divergences: list[NDArray[np.float64]] = field(default_factory=list)
    _surprises: list[NDArray[np.float64]] = field(default_factory=list)
    _agreements: list[NDArray[np.bool_]] = field(default_factory=list)

    def add(
        self,
        reference: NDArray[np.float32],
        logits: NDArray[np.float32],
        next_ids: Document,
    ) -> None:
        """Add logits (tokens, vocab) of both models, and the token that follows each in the text."""
        expected, actual = log_softmax(reference), log_softmax(logits)
        self._divergences.append((np.exp(expected) * (expected - actual)).sum(axis=1))
        self._surprises.append(-actual[np.arange(len(next_ids)), next_ids])
        self._agreements.append(reference.argmax(axis=1) == logits.argmax(axis=1))

    @property
    def divergences(self) -> NDArray[np.float64]:
        """KL(reference || other) of each prediction, in nats."""
        return np.concatenate(self._divergences)

    @property
    def agreement(self) -> float:
        """The share of predictions with the same likeliest token."""
        return float(np.concatenate(self._agreements).mean())

    @property
    def perplexity(self) -> float:
        """The perplexity of the other model on the text."""
        return float(np.exp(np.concatenate(self._surprises).mean()))


def log_softmax(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    """Logarithms of the probabilities of logits (tokens, vocab)."""
    shifted: NDArray[np.float64] = logits.astype(np.float64) - logits.max(axis=1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return shifted


def compare(
    path: Path, candidates: Sequence[Formats], documents: Sequence[Document], threads: int = 1
) -> dict[Formats, Comparison]:
    """Compare the model of a directory or GGUF file in float32 with itself in float32 and in other formats, on these
    tokens.
    """
    with ExitStack() as stack:

        def load(formats: Formats) -> Model:
            weights, kv_cache = formats
            model = load_model(path, weights=weights, kv_cache=kv_cache, threads=threads)
            return stack.enter_context(closing(model))

        models = {formats: load(formats) for formats in (REFERENCE, *candidates)}
        comparisons = {formats: Comparison() for formats in models}
        for document in documents:
            runs = [predictions(model, document) for model in models.values()]
            for first, step_logits in zip(steps_of(document), zip(*runs, strict=True), strict=True):
                next_ids = document[first + 1 : first + 1 + STEP_TOKENS]
                reference, *_ = logits = [each[: len(next_ids)] for each in step_logits]
                for comparison, each in zip(comparisons.values(), logits, strict=True):
                    comparison.add(reference, each, next_ids)
    return comparisons


def steps_of(document: Document) -> range:
    """The positions at which steps begin; the last token predicts nothing known."""
    return range(0, len(document) - 1, STEP_TOKENS)


def predictions(model: Model, document: Document) -> Iterator[NDArray[np.float32]]:
    """Logits (tokens, vocab) after each token but the last, step by step; each is a view until the next."""
    cache = model.new_cache(-(-len(document) // BLOCK_SIZE), BLOCK_SIZE)
    table = np.arange(cache.num_blocks, dtype=np.int32)[None]
    for first in steps_of(document):
        tokens = np.array(document[first : min(first + STEP_TOKENS, len(document) - 1)], np.int32)
        rows = np.arange(len(tokens), dtype=np.int32)
        yield model.forward(Batch(tokens, first + rows, np.zeros_like(rows), table, rows), cache)


def held_out_conversations(text: TextModel, per_kind: int) -> list[Document]:
    """Conversations in wordings that training does not use, in the model's own template."""
    return [
        text.chat_prompt(sample.messages, sample.tools, add_generation_prompt=False).ids[: text.max_context]
        for sample in evaluation_samples(SEED, per_kind)
    ]


def windows(text: TextModel, content: str, window: int) -> list[Document]:
    """A text in windows that are read separately, each after a beginning-of-sequence token if there is one.

    Windows are of almost equal length, so that each has enough context.
    """
    token_ids = text.tokenizer.encode(content, add_special=False)
    opening = [] if text.tokenizer.bos_id is None else [text.tokenizer.bos_id]
    num_windows = max(1, -(-len(token_ids) // (window - len(opening))))
    return [
        [*opening, *piece.tolist()] for piece in np.array_split(token_ids, num_windows) if len(opening) + len(piece) > 1
    ]


def own_texts(path: Path, text: TextModel, num_texts: int, window: int, threads: int) -> list[Document]:
    """Samples of the model in float32 at temperature 1, each up to its end token."""
    bos_id = text.tokenizer.bos_id
    assert bos_id is not None, "a model without a beginning-of-sequence token says nothing by itself"
    rng = np.random.default_rng(SEED)
    model = load_model(path, weights=REFERENCE[0], kv_cache=REFERENCE[1], threads=threads)
    with closing(model):
        blocks = -(-window // BLOCK_SIZE)
        cache: KVCache = model.new_cache(num_texts * blocks, BLOCK_SIZE, num_texts)
        rows = np.arange(num_texts, dtype=np.int32)
        tables = np.arange(num_texts * blocks, dtype=np.int32).reshape(num_texts, blocks)
        tokens = np.full((num_texts, window), bos_id, np.int32)
        for position in range(window - 1):
            positions = np.full(num_texts, position, np.int32)
            logits = model.forward(Batch(tokens[:, position], positions, rows, tables, rows), cache)
            # The largest sum of a logit and Gumbel noise is a draw from their softmax.
            tokens[:, position + 1] = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    is_end = np.isin(tokens[:, 1:], sorted(text.eos_ids))
    lengths = np.where(is_end.any(axis=1), 2 + is_end.argmax(axis=1), window)
    return [row[:length].tolist() for row, length in zip(tokens, lengths, strict=True)]


def report(comparisons: dict[Formats, Comparison], title: str) -> Table:
    """One line per pair of formats."""
    table = Table(title=title)
    for name in ("weights", "keys and values"):
        table.add_column(name)
    for name in ("mean KL", "p99 KL", "same top token", "perplexity", "of float32"):
        table.add_column(name, justify="right")
    float32 = comparisons[REFERENCE].perplexity
    for (weights, kv_cache), comparison in comparisons.items():
        divergences = comparison.divergences
        table.add_row(
            weights,
            kv_cache,
            f"{divergences.mean():.2e}",
            f"{np.quantile(divergences, 0.99):.2e}",
            f"{100 * comparison.agreement:.2f} %",
            f"{comparison.perplexity:.4f}",
            f"{comparison.perplexity / float32:.4f}",
        )
    return table


def parse_formats(text: str) -> Formats:
    """Parse `int8/float16` as formats of weights and cache."""
    for formats in (REFERENCE, *CANDIDATES):
        if "/".join(formats) == text:
            return formats
    raise argparse.ArgumentTypeError(f"one of {', '.join(map('/'.join, CANDIDATES))}")


def main() -> None:
    """Compare the formats of one model on one text."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", default=DEFAULT_MODEL, help="a name or a path")
    texts = parser.add_mutually_exclusive_group()
    texts.add_argument("--text", type=Path, metavar="FILE", help="plain text in UTF-8")
    texts.add_argument(
        "--own-texts", type=int, metavar="COUNT", help="number of samples of the model to use as the text"
    )
    texts.add_argument("--per-kind", type=int, default=20, help="conversations of each kind")
    parser.add_argument("--window", type=int, default=256, help="tokens per window of the text")
    parser.add_argument("--formats", type=parse_formats, nargs="*", default=CANDIDATES)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    path = resolve_model(given.model)
    text = load_text_model(path)
    window = min(given.window, text.max_context)
    if given.text:
        documents = windows(text, given.text.read_text(), window)
    elif given.own_texts:
        documents = own_texts(path, text, given.own_texts, window, given.threads)
    else:
        documents = held_out_conversations(text, given.per_kind)
    num_predictions = sum(len(document) - 1 for document in documents)
    comparisons = compare(path, given.formats, documents, given.threads)
    Console().print(report(comparisons, f"{text.name}: {num_predictions} predictions"))


if __name__ == "__main__":
    main()
