"""An index of the caller's own embeddings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cactus_actors.sdk import (
    CactusIndex,
    CallFailed,
    cactus_get_last_error,
    cactus_index_add,
    cactus_index_compact,
    cactus_index_delete,
    cactus_index_destroy,
    cactus_index_get,
    cactus_index_init,
    cactus_index_query,
)

VECTORS = [[2.0, 0.0, 0.0], [0.0, 3.0, 0.0], [1.0, 1.0, 0.0]]


@pytest.fixture
def index(tmp_path: Path) -> Iterator[CactusIndex]:
    index = cactus_index_init(tmp_path, 3)
    cactus_index_add(index, [10, 20, 30], ["ten", "twenty", "thirty"], VECTORS, ["a", "b", "c"])
    yield index
    cactus_index_destroy(index)


def results(answer: str) -> list[dict[str, Any]]:
    return json.loads(answer)["results"]


def ids(index: CactusIndex, embedding: list[float], options: Any = None) -> list[int]:
    return [result["id"] for result in results(cactus_index_query(index, embedding, options))]


def test_the_nearest_documents_come_first_with_their_cosine(index: CactusIndex) -> None:
    [first, second, third] = results(cactus_index_query(index, [5.0, 0.0, 0.0]))
    assert (first["id"], second["id"], third["id"]) == (10, 30, 20)
    assert (first["score"], third["score"]) == (pytest.approx(1.0), pytest.approx(0.0))
    assert second["score"] == pytest.approx(0.5**0.5)


def test_options_limit_the_number_and_the_score_of_results(index: CactusIndex) -> None:
    assert ids(index, [1, 0, 0], {"top_k": 2}) == [10, 30]
    assert ids(index, [1, 0, 0], '{"score_threshold": 0.5}') == [10, 30]
    assert ids(index, [-1, 0, 0]) == [20, 30, 10]
    cactus_index_add(index, range(100, 120), ["more"] * 20, [[1, 0, 0.1]] * 20)
    assert len(ids(index, [1, 0, 0])) == 10


def test_documents_are_returned_unchanged(index: CactusIndex) -> None:
    [third, first] = results(cactus_index_get(index, [30, 10]))
    assert (third["document"], third["metadata"]) == ("thirty", "c")
    assert (first["id"], first["embedding"]) == (10, [1.0, 0.0, 0.0])


def test_deleted_documents_are_not_found(index: CactusIndex) -> None:
    cactus_index_delete(index, [10, 999])
    cactus_index_compact(index)
    assert ids(index, [1, 0, 0]) == [30, 20]
    with pytest.raises(CallFailed, match="10"):
        cactus_index_get(index, [10])


def test_the_index_is_persistent(tmp_path: Path) -> None:
    first = cactus_index_init(tmp_path, 3)
    cactus_index_add(first, [1], ["one"], VECTORS[:1])
    cactus_index_destroy(first)
    cactus_index_destroy(first)
    second = cactus_index_init(tmp_path, 3)
    assert ids(second, [1, 0, 0]) == [1]
    cactus_index_destroy(second)
    with pytest.raises(CallFailed, match="3 dimensions, not 4"):
        cactus_index_init(tmp_path, 4)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (([10], ["again"], VECTORS[:1]), "there already"),
        (([5, 5], ["twice"] * 2, VECTORS[:2]), "twice"),
        (([5, 6], ["one"], VECTORS[:2]), "differ in number"),
        (([5], ["short"], [[1.0]]), "3 finite numbers"),
        (([5], ["words"], [["a", "b", "c"]]), "3 finite numbers"),
        (([5], ["nothing"], [[0.0, 0.0, 0.0]]), "not all 0"),
        (([5], ["nan"], [[float("nan"), 0.0, 0.0]]), "finite"),
        (([-1], ["negative"], VECTORS[:1]), "an id is"),
    ],
)
def test_invalid_documents_change_nothing(index: CactusIndex, arguments: tuple[Any, ...], told: str) -> None:
    with pytest.raises(CallFailed, match=told):
        cactus_index_add(index, *arguments)
    assert told in cactus_get_last_error()
    assert ids(index, [1, 0, 0]) == [10, 30, 20]


def test_invalid_arguments_are_named(tmp_path: Path, index: CactusIndex) -> None:
    with pytest.raises(CallFailed, match="not initialized"):
        cactus_index_query(None, [1.0])  # type: ignore[arg-type]
    with pytest.raises(CallFailed, match="options"):
        cactus_index_query(index, [1, 0, 0], "[")
    cactus_index_destroy(index)
    with pytest.raises(CallFailed, match="destroyed"):
        cactus_index_query(index, [1, 0, 0])
    with pytest.raises(CallFailed, match="embedding_dim"):
        cactus_index_init(tmp_path / "other", 0)
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "index.sqlite").write_bytes(b"not a database, but long enough to be looked at" * 9)
    with pytest.raises(CallFailed, match="damaged"):
        cactus_index_init(tmp_path / "damaged", 3)
