"""/v1/rerank and /v1/score: texts compared by the cosine of their embeddings.

Sources: the fields of Jina's and Cohere's rerank APIs, as llama.cpp's and vLLM's servers have them, and of vLLM's score
API.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec
from litestar import post
from litestar.response.base import ASGIResponse

from cactus_actors.api.conversion import typed
from cactus_actors.client.submit import EncodedSubmit
from cactus_actors.gateway.answers.job_responses import requested_model
from cactus_actors.gateway.context import gateway_of
from cactus_actors.gateway.http.identity import Identity
from cactus_actors.gateway.http.request_body import HttpRequest
from cactus_actors.gateway.routes.embeddings import MAX_INPUTS, answer_from_embeddings, embedding_jobs
from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.results import Result


class DocumentText(msgspec.Struct, frozen=True):
    """A document as an object."""

    text: str


class RerankBody(msgspec.Struct, frozen=True, kw_only=True):
    """`documents` are ordered by their nearness to the `query`; the nearest `top_n` are returned, by default all."""

    query: str
    documents: list[str | DocumentText]
    model: str | None = None
    top_n: int | None = None
    return_documents: bool = True
    user: str | None = None


class ScoreBody(msgspec.Struct, frozen=True, kw_only=True):
    """Each of `text_2` is compared with `text_1`, or with the one at its place in it."""

    text_1: str | list[str]
    text_2: str | list[str]
    model: str | None = None
    user: str | None = None


class _Comparison(NamedTuple):
    """Texts, the first `num_first` of one field and the others of another, and the pairs of places to compare."""

    texts: list[str]
    fields: tuple[str, str]
    num_first: int
    pairs: list[tuple[int, int]]
    model: str | None
    user: str | None


@post(["/v1/rerank", "/rerank"], status_code=200)
async def rerank(request: HttpRequest) -> ASGIResponse:
    """Order documents by their nearness to a query."""
    identity = Identity.of(request)
    asked: RerankBody

    def comparison(body: dict[str, Any]) -> _Comparison:
        nonlocal asked
        asked = typed(body, RerankBody)
        if not asked.documents:
            raise InvalidRequest("documents must not be empty", param="documents")
        if asked.top_n is not None and asked.top_n < 1:
            raise InvalidRequest(f"top_n must be at least 1, got {asked.top_n!s:.40}", param="top_n")
        texts = [asked.query, *map(_text_of, asked.documents)]
        pairs = [(0, place) for place in range(1, len(texts))]
        return _Comparison(texts, ("query", "documents"), 1, pairs, asked.model, asked.user)

    def render(scores: list[float], shared: dict[str, Any]) -> dict[str, Any]:
        order = sorted(range(len(scores)), key=lambda place: (-scores[place], place))[: asked.top_n]
        results: list[dict[str, Any]] = [{"index": place, "relevance_score": scores[place]} for place in order]
        if asked.return_documents:
            results = [it | {"document": {"text": _text_of(asked.documents[it["index"]])}} for it in results]
        return {"id": f"rerank-{identity.request_id}", "object": "list", "results": results, **shared}

    return await _compared(request, identity, comparison, render)


@post(["/v1/score", "/score"], status_code=200)
async def score(request: HttpRequest) -> ASGIResponse:
    """Compare texts in pairs."""
    identity = Identity.of(request)

    def comparison(body: dict[str, Any]) -> _Comparison:
        asked = typed(body, ScoreBody)
        first = [asked.text_1] if isinstance(asked.text_1, str) else asked.text_1
        second = [asked.text_2] if isinstance(asked.text_2, str) else asked.text_2
        if not second:
            raise InvalidRequest("text_2 must not be empty", param="text_2")
        if len(first) not in (1, len(second)):
            raise InvalidRequest(
                f"text_1 has {len(first)} texts for {len(second)} of text_2; it has one, or as many", param="text_1"
            )
        pairs = [(0 if len(first) == 1 else place, len(first) + place) for place in range(len(second))]
        return _Comparison([*first, *second], ("text_1", "text_2"), len(first), pairs, asked.model, asked.user)

    def render(scores: list[float], shared: dict[str, Any]) -> dict[str, Any]:
        data = [{"index": place, "object": "score", "score": value} for place, value in enumerate(scores)]
        created = int(time.time())
        return {"id": f"score-{identity.request_id}", "object": "list", "created": created, "data": data, **shared}

    return await _compared(request, identity, comparison, render)


def _text_of(document: str | DocumentText) -> str:
    return document if isinstance(document, str) else document.text


async def _compared(
    request: HttpRequest,
    identity: Identity,
    comparison: Callable[[dict[str, Any]], _Comparison],
    render: Callable[[list[float], dict[str, Any]], dict[str, Any]],
) -> ASGIResponse:
    """The response that `render` makes of the scores of all pairs, and of the fields that both paths have."""
    gateway = gateway_of(request)

    def convert(body: dict[str, Any]) -> tuple[tuple[_Comparison, str], list[EncodedSubmit]]:
        asked = comparison(body)
        if len(asked.texts) > MAX_INPUTS:
            raise InvalidRequest(f"{len(asked.texts)} texts, at most {MAX_INPUTS} are compared", param=asked.fields[1])
        if "" in asked.texts:
            field = asked.fields[asked.texts.index("") >= asked.num_first]
            raise InvalidRequest(f"a text of {field} must not be empty", param=field)
        model = requested_model(gateway, asked.model)
        return (asked, model), embedding_jobs(asked.texts, model, identity, asked.user)

    def answer(given: tuple[_Comparison, str], results: Sequence[Result]) -> dict[str, Any]:
        import numpy as np  # most gateways compare nothing

        asked, model = given
        vectors = np.array([result.embedding for result in results], np.float32)
        scores = [float(vectors[first] @ vectors[second]) for first, second in asked.pairs]
        num_tokens = sum(result.usage.prompt_tokens for result in results)
        usage = {"prompt_tokens": num_tokens, "total_tokens": num_tokens}
        return render(scores, {"model": model, "usage": usage})

    return await answer_from_embeddings(request, identity, convert, answer, {})


HANDLERS = [rerank, score]
