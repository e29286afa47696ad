"""/v1/rerank and /v1/score of the embedded model agree with its embeddings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest

from tests.support.services.real_service import RealService

QUERY = "What is the capital of France?"
DOCUMENTS = ["The opposite of hot is cold.", QUERY, "What is the capital of Italy?"]


@pytest.fixture(scope="module")
def http(service: RealService) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=service.url, timeout=60) as client:
        yield client


def embeddings_of(http: httpx.Client, texts: list[str]) -> Any:
    body = http.post("/v1/embeddings", json={"input": texts}).json()
    return np.array([one["embedding"] for one in body["data"]], np.float32)


def test_documents_are_ordered_by_the_cosine_of_their_embeddings(http: httpx.Client) -> None:
    ranking = http.post("/v1/rerank", json={"model": "m", "query": QUERY, "documents": DOCUMENTS}).json()
    vectors = embeddings_of(http, [QUERY, *DOCUMENTS])
    cosines = vectors[1:] @ vectors[0]
    assert [it["index"] for it in ranking["results"]] == [int(it) for it in np.argsort(-cosines)]
    scores = {it["index"]: it["relevance_score"] for it in ranking["results"]}
    assert [scores[place] for place in range(3)] == pytest.approx(cosines.tolist(), abs=1e-6)
    assert ranking["results"][0]["document"] == {"text": QUERY}
    assert ranking["results"][0]["relevance_score"] == pytest.approx(1.0, abs=1e-5)
    assert ranking["usage"]["total_tokens"] > 0


def test_the_nearest_documents_alone_without_their_texts(http: httpx.Client) -> None:
    documents = [{"text": text} for text in DOCUMENTS]
    body = {"query": QUERY, "documents": documents, "top_n": 1, "return_documents": False}
    [nearest] = http.post("/rerank", json=body).json()["results"]
    assert (nearest["index"], "document" in nearest) == (1, False)


def test_pairs_are_scored_one_with_each_or_side_by_side(http: httpx.Client) -> None:
    one = http.post("/v1/score", json={"text_1": QUERY, "text_2": DOCUMENTS}).json()
    pairs = http.post("/v1/score", json={"text_1": [QUERY] * 3, "text_2": DOCUMENTS}).json()
    assert [it["index"] for it in one["data"]] == [0, 1, 2]
    assert [it["score"] for it in one["data"]] == pytest.approx([it["score"] for it in pairs["data"]], abs=1e-6)
    single = http.post("/score", json={"text_1": QUERY, "text_2": QUERY}).json()
    assert single["data"][0]["score"] == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        ("/v1/rerank", {"documents": ["a"]}, "query"),
        ("/v1/rerank", {"query": "a", "documents": []}, "documents"),
        ("/v1/rerank", {"query": "a", "documents": [3]}, "documents[0]"),
        ("/v1/rerank", {"query": "a", "documents": ["b"], "top_n": 0}, "top_n"),
        ("/v1/rerank", {"query": "a", "documents": ["b"] * 2000}, "documents"),
        ("/v1/rerank", {"query": "", "documents": ["b"]}, "query"),
        ("/v1/score", {"text_1": "a", "text_2": ["b", ""]}, "text_2"),
        ("/v1/score", {"text_1": ["a", "b"], "text_2": ["a", "b", "c"]}, "text_1"),
        ("/v1/score", {"text_1": "a", "text_2": []}, "text_2"),
    ],
)
def test_bad_bodies_are_refused_by_name(http: httpx.Client, path: str, body: dict[str, Any], param: str) -> None:
    response = http.post(path, json=body)
    assert (response.status_code, response.json()["error"]["param"]) == (400, param)


def test_a_model_without_such_tokens_fills_nothing_in(http: httpx.Client) -> None:
    body = {"model": "m", "prompt": "def f():", "suffix": "return 1"}
    error = http.post("/v1/fim/completions", json=body).json()["error"]
    assert (error["code"], error["param"]) == (400, "suffix")


def test_without_a_suffix_the_prompt_is_continued_as_a_message(http: httpx.Client) -> None:
    body = {"model": "m", "prompt": "Once upon", "max_tokens": 8, "random_seed": 3, "temperature": 0}
    whole = http.post("/v1/fim/completions", json=body).json()
    text = http.post("/v1/completions", json=body).json()["choices"][0]["text"]
    [choice] = whole["choices"]
    assert (whole["object"], choice["message"]["role"]) == ("chat.completion", "assistant")
    assert choice["message"]["content"] == text
    streamed = http.post("/v1/fim/completions", json=body | {"stream": True}).text
    assert '"object":"chat.completion.chunk"' in streamed
    assert streamed.endswith("data: [DONE]\n\n")
