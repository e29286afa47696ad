"""Retrieval of pieces, with fake embeddings: a text's counts of three letters."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from cactus_actors.retrieval import Corpus, Index
from cactus_actors.retrieval.fusion import fuse
from cactus_actors.retrieval.word_index import WordIndex

HERE = Path(__file__).parent


class CountingEmbedder:
    """Embeds by letters, and records the texts that it embedded."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, texts: list[str]) -> NDArray[np.float32]:
        self.asked += texts
        rows = np.array([[1 + text.count(letter) for letter in "xyz"] for text in texts], np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    files = {"a": "apples xxxxxxxx", "b": "pears yyyyyyyy", "c": "plums zzzzzzzz"}
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for name, text in files.items():
        (corpus / f"{name}.md").write_text(text)
    return corpus


def test_fusion_adds_reciprocal_ranks() -> None:
    assert fuse([[7, 3], [3, 9]]) == [(3, 1 / 62 + 1 / 61), (7, 1 / 61), (9, 1 / 62)]
    assert fuse([]) == []


def test_rare_words_count_more_than_common_ones() -> None:
    index = WordIndex(["the cat sat", "the dog sat", "the dog ran", "the dogs barked at the zebra"])
    assert index.rank("the zebra", 2)[0] == 3
    assert index.rank("Dog!", 9) == [1, 2, 3]
    assert index.rank("unheard of", 9) == []


@pytest.mark.parametrize(
    ("query", "found"),
    [
        pytest.param("What is a zebra?", [3], id="common words do not count"),
        pytest.param("barking", [3], id="beginnings count"),
        pytest.param("猫が好き", [4], id="pairs of characters where no spaces stand"),
        pytest.param("what is this", [], id="nothing but common words"),
    ],
)
def test_a_text_is_split_into_terms(query: str, found: list[int]) -> None:
    texts = ["what a cat", "this is it", "the dog ran", "dogs barked at a zebra", "私は猫が大好きです"]
    assert WordIndex(texts).rank(query, 9) == found


@pytest.mark.parametrize("texts", [[], ["", "!?"]])
def test_a_query_without_matches_finds_nothing(texts: list[str]) -> None:
    assert WordIndex(texts).rank("anything", 5) == []


def test_without_embeddings_documents_are_ranked_by_words(directory: Path) -> None:
    [source] = Index(Corpus(directory)).query("Are there pears?", 5)
    assert (source.source, source.content) == ("b.md", "pears yyyyyyyy")


def test_ranks_by_words_and_by_embeddings_are_fused(directory: Path) -> None:
    index = Index(Corpus(directory), CountingEmbedder())
    assert [source.source for source in index.query("apples zzz", 2)] == ["a.md", "c.md"]
    assert [source.source for source in index.query("zz yyyyyyyyyy", 1)] == ["b.md"]
    assert index.query("apples", 0) == []
    first, second = index.query("apples zzz", 2)
    assert first.score > second.score > 0


def test_a_changed_file_is_found_by_its_new_content(directory: Path) -> None:
    embed = CountingEmbedder()
    index = Index(Corpus(directory), embed)
    (directory / "b.md").write_text("quinces xyz")
    embed.asked.clear()
    index.refresh()
    assert index.query("quinces", 1)[0].content == "quinces xyz"
    assert embed.asked == ["quinces xyz", "quinces"]  # the only new text, and the query
    assert all("pears" not in source.content for source in index.query("pears", 9))


def test_embeddings_are_cached_and_only_new_text_is_embedded(directory: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    Index(Corpus(directory), CountingEmbedder(), model="m", cache=cache)
    (directory / "a.md").touch()
    (directory / "d.md").write_text("medlars")
    again = CountingEmbedder()
    Index(Corpus(directory), again, model="m", cache=cache)
    assert again.asked == ["medlars"]
    other = CountingEmbedder()
    Index(Corpus(directory), other, model="another", cache=cache)
    assert len(other.asked) == 4


@pytest.mark.parametrize("damage", [b"", b"no archive", None])
def test_a_damaged_cache_is_rebuilt(
    directory: Path, tmp_path: Path, damage: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    cache = tmp_path / "cache"
    Index(Corpus(directory), CountingEmbedder(), cache=cache)
    [file] = cache.iterdir()
    file.write_bytes(file.read_bytes()[:-200] if damage is None else damage)
    with caplog.at_level(logging.WARNING):
        repaired = CountingEmbedder()
        Index(Corpus(directory), repaired, cache=cache)
    assert len(repaired.asked) == 3
    assert "damaged" in caplog.text
    again = CountingEmbedder()
    Index(Corpus(directory), again, cache=cache)
    assert again.asked == []


def test_an_unwritable_cache_does_not_prevent_answers(
    directory: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    index = Index(Corpus(directory), CountingEmbedder(), cache=tmp_path / "file" / "cache")
    assert index.query("apples", 1)[0].source == "a.md"
    assert "cannot be written" in caplog.text


def test_a_very_long_query_is_truncated(directory: Path) -> None:
    index = Index(Corpus(directory))
    assert index.query("x " * 999 + "pears", 5) == []
    assert index.query("x " * 900 + "pears", 5)[0].source == "b.md"


def test_an_empty_corpus_returns_no_chunks(tmp_path: Path) -> None:
    assert Index(Corpus(tmp_path), CountingEmbedder()).query("anything", 5) == []


def test_the_labelled_questions_are_found_by_words_alone() -> None:
    index = Index(Corpus(HERE / "library"))
    questions = [json.loads(line) for line in (HERE / "questions.jsonl").read_text().splitlines()]
    found = sum(
        any(
            source.source == question["source"] and question["says"] in source.content
            for source in index.query(question["question"], 5)
        )
        for question in questions
    )
    assert len(questions) == 40
    assert found >= 27


def test_uninformative_embeddings_rank_after_words(tmp_path: Path) -> None:
    for number in range(40):
        words = " ".join(["x" * number, "y" * (number * 7 % 40), "z" * (number * 11 % 40)])
        (tmp_path / f"{number}.md").write_text(f"Begin {number}. {words}.")

    def embed_at_random(texts: list[str]) -> NDArray[np.float32]:
        rows = np.random.default_rng(len(texts)).normal(size=(len(texts), 8))
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

    assert Index(Corpus(tmp_path), CountingEmbedder()).trusts_embeddings is True
    index = Index(Corpus(tmp_path), embed_at_random)
    assert index.trusts_embeddings is False
    by_words = Index(Corpus(tmp_path)).query("7 8 9", 5)
    assert [source.source for source in by_words] == ["7.md", "8.md", "9.md"]
    found = index.query("7 8 9", 5)
    assert found[:3] == by_words
    assert len(found) == 5
    assert len(index.query("unheard of", 5)) == 5
