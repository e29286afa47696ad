"""Recall of retrieval: the share of questions whose answer is among the first k pieces, by words, by meaning and by
both.

python -m benchmarks.retrieval --model cactus-sprout
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from cactus_actors.retrieval import Corpus, Index
from cactus_actors.retrieval.document_chunks import DocumentChunk
from cactus_actors.retrieval.fusion import fuse
from cactus_actors.retrieval.index import NUM_CANDIDATES
from cactus_actors.retrieval.word_index import WordIndex
from cactus_actors.sdk import cactus_destroy, cactus_embed, cactus_init

LABELLED = Path(__file__).parents[1] / "tests" / "retrieval"
DEPTHS = (1, 5, 10)

Ranking = Callable[[str], Sequence[int]]


class Question(msgspec.Struct):
    """A question; the piece of `source` that contains the text `says` answers it."""

    question: str
    source: str
    says: str


def recalls(ranking: Ranking, chunks: list[DocumentChunk], questions: list[Question]) -> dict[str, float]:
    """The share of questions whose piece is among the first k."""
    places = []
    for asked in questions:
        ranked = [chunks[number] for number in ranking(asked.question)]
        hits = [chunk.source == asked.source and asked.says in chunk.text for chunk in ranked]
        places.append(hits.index(True) if True in hits else len(chunks))
    return {f"recall@{k}": round(sum(place < k for place in places) / len(places), 3) for k in DEPTHS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="cactus-sprout")
    parser.add_argument("--data", type=Path, default=LABELLED, help="library/ and questions.jsonl")
    arguments = parser.parse_args()
    corpus = Corpus(arguments.data / "library")
    lines = (arguments.data / "questions.jsonl").read_text().splitlines()
    questions = [msgspec.json.decode(line, type=Question) for line in lines]
    chunks = corpus.chunks
    texts = [chunk.text for chunk in chunks]
    model = cactus_init(arguments.model)

    def embed(texts: list[str]) -> NDArray[np.float32]:
        return np.array([cactus_embed(model, text) for text in texts], np.float32)

    started = time.perf_counter()
    index = Index(corpus, embed)
    seconds = time.perf_counter() - started
    words, vectors = WordIndex(texts), embed(texts)

    def by_words(question: str) -> list[int]:
        return words.rank(question, NUM_CANDIDATES)

    def by_meaning(question: str) -> list[int]:
        order = np.argsort(-(vectors @ embed([question])[0]), kind="stable")
        return [int(number) for number in order[:NUM_CANDIDATES]]

    def by_both(question: str) -> list[int]:
        return [number for number, _ in fuse([by_words(question), by_meaning(question)])]

    def by_index(question: str) -> list[int]:
        found = [source.content for source in index.query(question, NUM_CANDIDATES)]
        return [texts.index(content) for content in found]

    for name, ranking in {
        "words": by_words,
        "meaning": by_meaning,
        "both": by_both,
        "index": by_index,
    }.items():
        print(json.dumps({"by": name, **recalls(ranking, chunks, questions)}))
    summary = {"chunks": len(chunks), "questions": len(questions), "index_s": round(seconds, 2)}
    print(json.dumps({**summary, "trusts_embeddings": index.trusts_embeddings}))
    cactus_destroy(model)


if __name__ == "__main__":
    main()
