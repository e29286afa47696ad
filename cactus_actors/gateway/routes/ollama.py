"""Ollama's API, for editors and tools that know no other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from litestar import get, post
from litestar.response.base import ASGIResponse

from cactus_actors.api.conversion import typed
from cactus_actors.api.field_names import FieldNames
from cactus_actors.api.ollama import OllamaAnswer, OllamaLines, request_from_generate, request_from_ollama_chat
from cactus_actors.api.ollama.answer_lines import now_text
from cactus_actors.api.ollama.chat_requests import OllamaBody, read_body
from cactus_actors.api.openai import BodyRequest
from cactus_actors.client.submit import EncodedSubmit
from cactus_actors.gateway.answers.job_responses import (
    check_serves,
    hold_bytes,
    json_response,
    prepared_jobs,
    requested_model,
    streamed_answer,
    whole_answer,
)
from cactus_actors.gateway.answers.streaming_response import OLLAMA_STREAM
from cactus_actors.gateway.context import GatewayContext, gateway_of
from cactus_actors.gateway.http.identity import Identity
from cactus_actors.gateway.http.oversized_prompts import check_prompt_fits
from cactus_actors.gateway.http.request_body import HttpRequest, read_json
from cactus_actors.gateway.routes.embeddings import answer_from_embeddings, embedding_jobs, inputs_of
from cactus_actors.protocol.results import Result
from cactus_actors.text import TextModel

VERSION = "0.13.0"
"""The version of Ollama whose API this is; some clients refuse older ones."""
LATEST = ":latest"
"""The tag that Ollama's clients add to a name without one."""


class EmbedBody(msgspec.Struct, frozen=True, kw_only=True):
    """`input` is a text or a list of texts; `prompt` is the one text of the older path."""

    model: str | None = None
    input: str | list[str] = []
    prompt: str = ""


class ShowBody(msgspec.Struct, frozen=True, kw_only=True):
    """The name of a model, which older clients send as `name`."""

    model: str | None = None
    name: str | None = None


@post("/api/chat", status_code=200)
async def ollama_chat(request: HttpRequest) -> ASGIResponse:
    """Answer a conversation, streamed as lines of JSON unless `stream` is false."""
    return await _answered(request, request_from_ollama_chat, is_chat=True)


@post("/api/generate", status_code=200)
async def generate(request: HttpRequest) -> ASGIResponse:
    """Answer a prompt, with the chat template unless it is `raw`."""
    return await _answered(request, request_from_generate, is_chat=False)


@post("/api/embed", status_code=200)
async def embed(request: HttpRequest) -> ASGIResponse:
    """Embeddings of texts."""
    return await _embedded(request, lambda body: body.input, lambda vectors: {"embeddings": vectors})


@post("/api/embeddings", status_code=200)
async def embed_one(request: HttpRequest) -> ASGIResponse:
    """The embedding of one text: the older path."""
    return await _embedded(request, lambda body: body.prompt, lambda vectors: {"embedding": vectors[0]})


@get("/api/tags")
async def tags(request: HttpRequest) -> ASGIResponse:
    """The models that are served."""
    gateway = gateway_of(request)
    return json_response({"models": [_listed(gateway, name) for name in gateway.texts.by_name]})


@get("/api/ps")
async def running(request: HttpRequest) -> ASGIResponse:
    """The models that have workers."""
    gateway = gateway_of(request)
    status = await gateway.status.fresh()
    states = {} if status is None else status.states
    only = next(iter(states.values()), "") if len(states) == 1 else None
    loaded = [name for name in gateway.texts.by_name if (only or states.get(name)) == "ready"]
    more = {"expires_at": "0001-01-01T00:00:00Z", "size_vram": 0}
    return json_response({"models": [_listed(gateway, name) | more for name in loaded]})


@post("/api/show", status_code=200)
async def show(request: HttpRequest) -> ASGIResponse:
    """What a model can do."""
    gateway = gateway_of(request)
    asked = await read_json(request, gateway.settings.max_body_bytes, lambda body: typed(body, ShowBody))
    name = requested_model(gateway, without_tag(asked.model or asked.name))
    text = gateway.text_of(name)
    about = {"general.architecture": "cactus", "cactus.context_length": text.max_context}
    return json_response(
        {
            "modelfile": "",
            "parameters": "",
            "template": "",
            "details": _details(),
            "model_info": about,
            "capabilities": _capabilities(text),
        }
    )


@get("/api/version")
async def version() -> ASGIResponse:
    """The version of Ollama's API."""
    return json_response({"version": VERSION})


def without_tag(model: str | None) -> str | None:
    """The name of a model without the tag that means none."""
    return None if model is None else model.removesuffix(LATEST)


RequestFrom = Callable[..., BodyRequest]


async def _answered(request: HttpRequest, request_from: RequestFrom, *, is_chat: bool) -> ASGIResponse:
    gateway, identity = gateway_of(request), Identity.of(request)
    given: OllamaBody

    def convert(body: dict[str, Any]) -> tuple[BodyRequest, FieldNames] | None:
        nonlocal given
        check_prompt_fits(body, gateway.texts.max_context)
        given = read_body(body)
        given = msgspec.structs.replace(given, model=requested_model(gateway, without_tag(given.model)))
        if given.loads_alone:
            return None
        asked = request_from(given, identity.job_id, profile=gateway.settings.chat_profile)
        return asked, asked.field_names

    converted = await read_json(request, gateway.settings.max_body_bytes, convert)
    if converted is None:
        return json_response(_loaded(given, is_chat=is_chat))
    jobs = prepared_jobs(*converted, identity)
    hold_bytes(request, jobs.num_bytes)
    await check_serves(gateway, identity)
    answer = OllamaAnswer(jobs.asked, is_chat=is_chat)
    if jobs.asked.stream:
        lines = OllamaLines(jobs.asked, answer)
        return await streamed_answer(
            gateway, request, identity, jobs.submits, lines, names=jobs.names, form=OLLAMA_STREAM
        )

    def render(results: Sequence[Result]) -> dict[str, Any]:
        return answer.whole(results[0])

    return await whole_answer(gateway, request, identity, jobs.submits, render, names=jobs.names)


def _loaded(given: OllamaBody, *, is_chat: bool) -> dict[str, Any]:
    empty = {"message": {"role": "assistant", "content": ""}} if is_chat else {"response": ""}
    return {"model": given.model, "created_at": now_text(), **empty, "done": True, "done_reason": "load"}


async def _embedded(
    request: HttpRequest,
    texts_of: Callable[[EmbedBody], str | list[str]],
    written: Callable[[list[list[float]]], dict[str, Any]],
) -> ASGIResponse:
    gateway, identity = gateway_of(request), Identity.of(request)

    def convert(body: dict[str, Any]) -> tuple[str, list[EncodedSubmit]]:
        asked = typed(body, EmbedBody)
        model = requested_model(gateway, without_tag(asked.model))
        return model, embedding_jobs(inputs_of(texts_of(asked)), model, identity, None)

    def render(model: str, results: Sequence[Result]) -> dict[str, Any]:
        counts = {"prompt_eval_count": sum(result.usage.prompt_tokens for result in results)}
        return {"model": model, **written([result.embedding or [] for result in results]), **counts}

    return await answer_from_embeddings(request, identity, convert, render, {"prompt": "input"})


def _listed(gateway: GatewayContext, name: str) -> dict[str, Any]:
    modified = datetime.fromtimestamp(gateway.created, UTC).isoformat().replace("+00:00", "Z")
    digest = gateway.texts.by_name[name].fingerprint
    return {
        "name": name,
        "model": name,
        "modified_at": modified,
        "size": 0,
        "digest": digest,
        "details": _details(),
    }


def _details() -> dict[str, Any]:
    empty = dict.fromkeys(("parent_model", "format", "parameter_size", "quantization_level"), "")
    return {**empty, "family": "cactus", "families": ["cactus"]}


def _capabilities(text: TextModel) -> list[str]:
    able = {
        "completion": True,
        "embedding": True,
        "tools": text.chat.is_for_tools,
        "thinking": text.reasoning is not None,
        "vision": text.pictures is not None,
        "insert": text.fill_tokens is not None,
    }
    return [name for name, is_able in able.items() if is_able]


HANDLERS = [ollama_chat, generate, embed, embed_one, tags, running, show, version]
