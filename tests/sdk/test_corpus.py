"""A model with documents: retrieval, the prompt with its sources, and the sources in the result."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cactus_actors.sdk import (
    CactusModel,
    CallFailed,
    cactus_complete,
    cactus_destroy,
    cactus_embed,
    cactus_get_last_error,
    cactus_init,
    cactus_prefill,
    cactus_rag_query,
)
from cactus_actors.workers.loading.packed_file import cache_directory

QUESTION = [{"role": "user", "content": "When does the ferry to the island leave?"}]
DOCUMENTS = {
    "ferry.md": "# Ferry\nThe ferry to the island leaves at ten past nine.",
    "museum.md": "# Museum\nThe museum shows clocks.",
    "market.txt": "The market sells cheese on Mondays.",
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("corpus")
    for name, text in DOCUMENTS.items():
        (directory / name).write_text(text)
    return directory


@pytest.fixture(scope="module")
def model(corpus: Path) -> Iterator[CactusModel]:
    model = cactus_init("cactus-sprout", corpus, True, threads=1)
    yield model
    cactus_destroy(model)


def answer(model: CactusModel, **options: Any) -> dict[str, Any]:
    return json.loads(cactus_complete(model, QUESTION, {"temperature": 0, "max_tokens": 8, **options}))


def test_matching_chunks_are_in_the_prompt_and_in_the_result(model: CactusModel) -> None:
    result = answer(model)
    assert result["success"] is True
    assert result["sources"][0]["source"] == "ferry.md"
    assert result["sources"][0]["content"] == "Ferry\n\nThe ferry to the island leaves at ten past nine."
    assert len(result["sources"]) == 3
    without = answer(model, tool_rag_top_k=0)
    assert without["sources"] == []
    assert result["prompt_tokens"] > without["prompt_tokens"] + 30


def test_the_number_of_documents_is_an_option(model: CactusModel) -> None:
    one = answer(model, tool_rag_top_k=1)
    assert [source["source"] for source in one["sources"]] == ["ferry.md"]
    assert answer(model, tool_rag_top_k=2)["prompt_tokens"] > one["prompt_tokens"]
    assert answer(model, tool_rag_top_k=-2)["error_param"] == "tool_rag_top_k"


def test_a_prefill_computes_the_same_prompt(model: CactusModel) -> None:
    prefilled = json.loads(cactus_prefill(model, QUESTION))
    assert prefilled["prefill_tokens"] == answer(model)["prompt_tokens"]


def test_a_query_returns_scored_chunks(model: CactusModel) -> None:
    reply = json.loads(cactus_rag_query(model, "cheese", 2))
    assert reply["error"] is None
    first, second = reply["chunks"]
    assert (first["source"], first["content"]) == ("market.txt", DOCUMENTS["market.txt"])
    assert first["score"] > second["score"]


def test_a_query_without_a_corpus_is_an_error(shared_model: CactusModel) -> None:
    reply = json.loads(cactus_rag_query(shared_model, "cheese"))
    assert reply["chunks"] == []
    assert "corpus" in reply["error"]


def test_the_index_is_cached_if_requested(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CACTUS_CACHE_DIR", str(tmp_path))
    cactus_destroy(cactus_init("cactus-sprout", corpus, True, threads=1))
    [kept] = (cache_directory() / "retrieval").iterdir()
    written = kept.stat().st_mtime_ns
    cactus_destroy(cactus_init("cactus-sprout", corpus, False, threads=1))
    cactus_destroy(cactus_init("cactus-sprout", corpus, True, threads=1))
    assert kept.stat().st_mtime_ns == written


def test_documents_fill_at_most_half_of_a_prompt(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"{number}.md").write_text(f"ferry {number} " * 110)
    model = cactus_init("cactus-sprout", tmp_path, threads=1)
    result = answer(model)
    cactus_destroy(model)
    assert result["success"] is True
    assert 0 < len(result["sources"]) < 5
    assert result["prompt_tokens"] < 512 + 60


def test_chunks_longer_than_the_context_are_found(tmp_path: Path) -> None:
    (tmp_path / "cats.md").write_text("私は猫が大好きです。" * 70)
    (tmp_path / "ferry.md").write_text("The ferry leaves at nine.")
    model = cactus_init("cactus-sprout", tmp_path, threads=1)
    [found, _] = json.loads(cactus_rag_query(model, "猫" * 2000, 2))["chunks"]
    cactus_destroy(model)
    assert found["source"] == "cats.md"


def test_a_missing_corpus_is_named(tmp_path: Path) -> None:
    with pytest.raises(CallFailed, match="nowhere"):
        cactus_init("cactus-sprout", tmp_path / "nowhere", False, threads=1)
    assert "nowhere" in cactus_get_last_error()


def test_an_embedding_is_normalised_unless_disabled(shared_model: CactusModel) -> None:
    unit, raw = cactus_embed(shared_model, "The sea."), cactus_embed(shared_model, "The sea.", False)
    length = sum(value**2 for value in raw) ** 0.5
    assert sum(value**2 for value in unit) == pytest.approx(1.0)
    assert length > 2
    assert raw == pytest.approx([value * length for value in unit])
    assert cactus_embed(shared_model, "The moon.") != unit
    with pytest.raises(CallFailed):
        cactus_embed(shared_model, "")
