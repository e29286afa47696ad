"""The gateway's document, OpenAPI 3.1: its paths, and what is common to them."""

from __future__ import annotations

import importlib.metadata
from typing import Any, NamedTuple

from cactus_actors.gateway.http.pagination import DEFAULT_LIMIT, MAX_LIMIT
from cactus_actors.gateway.http.request_ids import MAX_IDEMPOTENCY_KEY
from cactus_actors.gateway.openapi.request_schemas import UPLOAD, body_schemas
from cactus_actors.gateway.openapi.response_schemas import ANSWERS, TEXT, Schema, reference

_ERRORS = {
    "400": "The request can never succeed as written; `param` names the field.",
    "401": "No API key, or a wrong one.",
    "403": "The Host header is not one that is answered.",
    "404": "There is no such model, request, file or batch.",
    "408": "The body did not come in time.",
    "409": "The Idempotency-Key was used before for another request.",
    "413": "The body is too big.",
    "415": "The body is not plain JSON.",
    "429": "Too much waits already; Retry-After says when to come back.",
    "503": "The service is loading, stopping or gone; Retry-After says when to come back.",
    "504": "The request's own deadline passed.",
}


class ApiOperation(NamedTuple):
    """One method of one path.

    `body` and `answer` are schemas' names, or media types of their own. What `streams` may answer with
    events, and takes the headers of streams that go on; what `is_listed` takes the parameters of a page.
    """

    method: str
    path: str
    summary: str
    group: str
    answer: str
    body: str | None = None
    streams: bool = False
    is_listed: bool = False


_OPENAI, _BATCHES, _LLAMA_CPP = "OpenAI", "Batches", "llama.cpp"
_REQUESTS, _HEALTH = "Requests", "Health"
_FILE, _BATCH, _REQUEST = "/v1/files/{file_id}", "/v1/batches/{batch_id}", "/v1/requests/{request_id}"
OPERATIONS = (
    ApiOperation(
        "post",
        "/v1/chat/completions",
        "Answer a conversation",
        _OPENAI,
        "ChatCompletion",
        "ChatBody",
        streams=True,
    ),
    ApiOperation(
        "post",
        "/v1/completions",
        "Complete a prompt, or several",
        _OPENAI,
        "TextCompletion",
        "CompletionBody",
        streams=True,
    ),
    ApiOperation("post", "/v1/embeddings", "Texts as vectors", _OPENAI, "Embeddings", "EmbeddingsBody"),
    ApiOperation("get", "/v1/models", "The models that are served", _OPENAI, "ModelList"),
    ApiOperation("get", "/v1/models/{model}", "One model", _OPENAI, "Model"),
    ApiOperation("post", "/v1/files", "Upload a prompt file", _BATCHES, "File", "multipart/form-data"),
    ApiOperation("get", "/v1/files", "List files", _BATCHES, "FileList", is_listed=True),
    ApiOperation("get", _FILE, "One file", _BATCHES, "File"),
    ApiOperation("get", f"{_FILE}/content", "A file's content", _BATCHES, "application/octet-stream"),
    ApiOperation("delete", _FILE, "Delete a file", _BATCHES, "FileDeleted"),
    ApiOperation("post", "/v1/batches", "Run a prompt file", _BATCHES, "Batch", "BatchBody"),
    ApiOperation("get", "/v1/batches", "List batches", _BATCHES, "BatchList", is_listed=True),
    ApiOperation("get", _BATCH, "One batch", _BATCHES, "Batch"),
    ApiOperation("post", f"{_BATCH}/cancel", "Stop a batch", _BATCHES, "Batch"),
    ApiOperation(
        "post",
        "/completion",
        "Complete a prompt, or several",
        _LLAMA_CPP,
        "LlamaCppCompletion",
        "LlamaCppBody",
        streams=True,
    ),
    ApiOperation(
        "post",
        "/infill",
        "Write between a prefix and a suffix",
        _LLAMA_CPP,
        "LlamaCppCompletion",
        "InfillBody",
        streams=True,
    ),
    ApiOperation("post", "/tokenize", "Text to token ids", _LLAMA_CPP, "Tokens", "TokenizeBody"),
    ApiOperation("post", "/detokenize", "Token ids to text", _LLAMA_CPP, "Text", "DetokenizeBody"),
    ApiOperation(
        "post", "/apply-template", "A conversation as the prompt it becomes", _LLAMA_CPP, "Prompt", "ChatBody"
    ),
    ApiOperation("get", _REQUEST, "What became of a request", _REQUESTS, "Request"),
    ApiOperation("delete", _REQUEST, "Cancel a request", _REQUESTS, "RequestCancelled"),
    ApiOperation("get", "/health", "Whether requests are answered", _HEALTH, "Health"),
    ApiOperation("get", "/readyz", "Whether to send requests here", _HEALTH, "Health"),
    ApiOperation("get", "/healthz", "Whether this process answers", _HEALTH, "Health"),
    ApiOperation("get", "/metrics", "Counters for Prometheus", _HEALTH, "text/plain"),
)


def document() -> dict[str, Any]:
    """The whole document."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "cactus-actors",
            "version": _version(),
            "description": "Small language models on ordinary CPUs. Fields and defaults: docs/reference/options.md.",
        },
        "paths": paths,
        "components": {
            "schemas": body_schemas() | ANSWERS,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"key": []}, {}],
    }


def _version() -> str:
    try:
        return importlib.metadata.version("cactus-actors")
    except importlib.metadata.PackageNotFoundError:
        return ""


def _operation(operation: ApiOperation) -> dict[str, Any]:
    written: dict[str, Any] = {
        "operationId": f"{operation.method}{operation.path.translate(str.maketrans('/-{}', '____'))}",
        "summary": operation.summary,
        "tags": [operation.group],
        "parameters": _parameters(operation),
        "responses": {
            "200": {"description": "The answer", "content": _answer(operation)},
            **{status: {"description": text, "content": _json(reference("Error"))} for status, text in _ERRORS.items()},
        },
    }
    if operation.body == "multipart/form-data":
        written["requestBody"] = {"required": True, "content": {operation.body: {"schema": UPLOAD}}}
    elif operation.body is not None:
        written["requestBody"] = {"required": True, "content": _json(reference(operation.body))}
    return written


def _answer(operation: ApiOperation) -> dict[str, Any]:
    if "/" in operation.answer:
        return {operation.answer: {}}
    return _json(reference(operation.answer)) | ({"text/event-stream": {}} if operation.streams else {})


def _parameters(operation: ApiOperation) -> list[dict[str, Any]]:
    names = [part[1:-1] for part in operation.path.split("/") if part.startswith("{")]
    inside = [{"name": name, "in": "path", "required": True, "schema": TEXT} for name in names]
    return [*inside, *(_PAGE if operation.is_listed else ()), *(_RESUMED if operation.streams else ())]


def _json(schema: Schema) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


_PAGE = (
    {
        "name": "limit",
        "in": "query",
        "schema": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
    },
    {"name": "after", "in": "query", "schema": TEXT, "description": "The id of the last one seen"},
)
_RESUMED = (
    {
        "name": "Idempotency-Key",
        "in": "header",
        "schema": {"type": "string", "minLength": 1, "maxLength": MAX_IDEMPOTENCY_KEY},
        "description": "The same key again finds the same answer, for 24 hours",
    },
    {
        "name": "Last-Event-ID",
        "in": "header",
        "schema": TEXT,
        "description": "Go on behind this event of the same request's stream",
    },
)
