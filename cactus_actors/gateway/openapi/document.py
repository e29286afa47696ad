"""The gateway's OpenAPI 3.1 document: its paths and their common parts."""

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
    "403": "The Host header is not allowed.",
    "404": "There is no such model, request, file or batch.",
    "408": "The body did not arrive in time.",
    "409": "The Idempotency-Key was used before for another request.",
    "413": "The body is too large.",
    "415": "The body is not plain JSON.",
    "429": "The service has too much work; Retry-After says when to retry.",
    "503": "The service is loading, stopping or gone; Retry-After says when to retry.",
    "504": "The request's own deadline passed.",
}


class ApiOperation(NamedTuple):
    """One method of one path.

    `body` and `answer` are names of schemas, or media types. An operation that `streams` may respond with events, and
    accepts the headers for resuming, or without a body the parameters; one that `is_listed` has those of a page.
    """

    method: str
    path: str
    summary: str
    answer: str
    body: str | None = None
    streams: bool = False
    is_listed: bool = False


def _completion(path: str, summary: str, answer: str, body: str) -> ApiOperation:
    return ApiOperation("post", path, summary, answer, body, streams=True)


_MESSAGE_BATCH = "/v1/messages/batches/{batch_id}"
_FILE, _BATCH, _REQUEST = "/v1/files/{file_id}", "/v1/batches/{batch_id}", "/v1/requests/{request_id}"
_RESPONSES, _RESPONSE = "/v1/responses", "/v1/responses/{response_id}"
OPERATIONS: dict[str, tuple[ApiOperation, ...]] = {
    "OpenAI": (
        _completion("/v1/chat/completions", "Answer a conversation", "ChatCompletion", "ChatBody"),
        _completion("/v1/completions", "Complete a prompt, or several", "TextCompletion", "CompletionBody"),
        ApiOperation("post", "/v1/embeddings", "Texts as vectors", "Embeddings", "EmbeddingsBody"),
        ApiOperation("get", "/v1/models", "The models that are served", "ModelList"),
        ApiOperation("get", "/v1/models/{model}", "One model", "Model"),
    ),
    "Responses": (
        _completion(_RESPONSES, "Answer a conversation, and store the answer", "Response", "ResponsesBody"),
        ApiOperation("post", f"{_RESPONSES}/input_tokens", "The tokens of its prompt", "InputTokens", "ResponsesBody"),
        ApiOperation("get", _RESPONSE, "A stored response, or its events", "Response", streams=True),
        ApiOperation("post", f"{_RESPONSE}/cancel", "End a response", "Response"),
        ApiOperation("delete", _RESPONSE, "Forget a response", "ResponseDeleted"),
        ApiOperation("get", f"{_RESPONSE}/input_items", "What it answers", "InputItems", is_listed=True),
    ),
    "Anthropic": (
        _completion("/v1/messages", "Answer a conversation", "Message", "MessagesBody"),
        ApiOperation("post", "/v1/messages/count_tokens", "The tokens of its prompt", "MessageTokens", "MessagesBody"),
        ApiOperation("post", "/v1/messages/batches", "Answer many", "MessageBatch", "MessageBatchBody"),
        ApiOperation("get", "/v1/messages/batches", "List batches of messages", "MessageBatchList"),
        ApiOperation("get", _MESSAGE_BATCH, "One batch of messages", "MessageBatch"),
        ApiOperation("get", f"{_MESSAGE_BATCH}/results", "Its results, one a line", "application/x-jsonl"),
        ApiOperation("post", f"{_MESSAGE_BATCH}/cancel", "Stop a batch of messages", "MessageBatch"),
        ApiOperation("delete", _MESSAGE_BATCH, "Remove a batch of messages", "MessageBatchDeleted"),
    ),
    "Ollama": (
        _completion("/api/chat", "Answer a conversation", "OllamaAnswer", "OllamaBody"),
        _completion("/api/generate", "Answer a prompt", "OllamaAnswer", "OllamaBody"),
        ApiOperation("post", "/api/embed", "Texts as vectors", "OllamaEmbeddings", "EmbedBody"),
        ApiOperation("post", "/api/embeddings", "A text as a vector", "OllamaEmbedding", "EmbedBody"),
        ApiOperation("get", "/api/tags", "The models that are served", "OllamaModels"),
        ApiOperation("get", "/api/ps", "The models that have workers", "OllamaModels"),
        ApiOperation("post", "/api/show", "What a model can do", "OllamaModel", "ShowBody"),
        ApiOperation("get", "/api/version", "The version of this API", "OllamaVersion"),
    ),
    "Mistral": (
        _completion("/v1/fim/completions", "Write between a prompt and a suffix", "ChatCompletion", "CompletionBody"),
    ),
    "Comparing texts": (
        ApiOperation("post", "/v1/rerank", "Order documents by their nearness to a query", "Ranking", "RerankBody"),
        ApiOperation("post", "/v1/score", "Compare texts in pairs", "Scores", "ScoreBody"),
    ),
    "Adapters": (
        ApiOperation("post", "/v1/load_lora_adapter", "Load an adapter", "AdapterLoaded", "LoadAdapterBody"),
        ApiOperation("post", "/v1/unload_lora_adapter", "Unload an adapter", "AdapterUnloaded", "UnloadAdapterBody"),
    ),
    "Operations": (
        ApiOperation("post", "/v1/service/scale", "Set the number of workers", "NumWorkers", "ScaleBody"),
        ApiOperation("post", "/v1/service/restart", "Replace every worker", "NumWorkers", "RestartBody"),
        ApiOperation("post", "/v1/service/drain", "Move the workers of a node", "NumWorkers", "DrainBody"),
    ),
    "Batches": (
        ApiOperation("post", "/v1/files", "Upload a prompt file", "File", "multipart/form-data"),
        ApiOperation("get", "/v1/files", "List files", "FileList", is_listed=True),
        ApiOperation("get", _FILE, "One file", "File"),
        ApiOperation("get", f"{_FILE}/content", "A file's content", "application/octet-stream"),
        ApiOperation("delete", _FILE, "Delete a file", "FileDeleted"),
        ApiOperation("post", "/v1/batches", "Run a prompt file", "Batch", "BatchBody"),
        ApiOperation("get", "/v1/batches", "List batches", "BatchList", is_listed=True),
        ApiOperation("get", _BATCH, "One batch", "Batch"),
        ApiOperation("post", f"{_BATCH}/cancel", "Stop a batch", "Batch"),
    ),
    "llama.cpp": (
        _completion("/completion", "Complete a prompt, or several", "LlamaCppCompletion", "LlamaCppBody"),
        _completion("/infill", "Write between a prefix and a suffix", "LlamaCppCompletion", "InfillBody"),
        ApiOperation("post", "/tokenize", "Text to token ids", "Tokens", "TokenizeBody"),
        ApiOperation("post", "/detokenize", "Token ids to text", "Text", "DetokenizeBody"),
        ApiOperation("post", "/apply-template", "A conversation as the prompt it becomes", "Prompt", "ChatBody"),
    ),
    "Requests": (
        ApiOperation("get", _REQUEST, "The state of a request", "Request"),
        ApiOperation("delete", _REQUEST, "Cancel a request", "RequestCancelled"),
    ),
    "Health": (
        ApiOperation("get", "/health", "Status 200 if requests are answered", "Health"),
        ApiOperation("get", "/readyz", "Status 200 if new requests may be sent here", "Health"),
        ApiOperation("get", "/healthz", "Status 200 while this process answers", "Health"),
        ApiOperation("get", "/metrics", "Counters for Prometheus", "text/plain"),
    ),
}
"""By group."""


def document() -> dict[str, Any]:
    """The whole document."""
    paths: dict[str, dict[str, Any]] = {}
    for group, operations in OPERATIONS.items():
        for one in operations:
            paths.setdefault(one.path, {})[one.method] = _operation(one, group)
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


def _operation(operation: ApiOperation, group: str) -> dict[str, Any]:
    error = _json(reference({"Anthropic": "MessageError", "Ollama": "OllamaError"}.get(group, "Error")))
    written: dict[str, Any] = {
        "operationId": f"{operation.method}{operation.path.translate(str.maketrans('/-{}', '____'))}",
        "summary": operation.summary,
        "tags": [group],
        "parameters": _parameters(operation),
        "responses": {
            "200": {"description": "The answer", "content": _answer(operation)},
            **{status: {"description": text, "content": error} for status, text in _ERRORS.items()},
        },
    }
    if operation.body is not None:
        is_form = operation.body == "multipart/form-data"
        content = {operation.body: {"schema": UPLOAD}} if is_form else _json(reference(operation.body))
        written["requestBody"] = {"required": True, "content": content}
    return written


def _answer(operation: ApiOperation) -> dict[str, Any]:
    if "/" in operation.answer:
        return {operation.answer: {}}
    events = "application/x-ndjson" if operation.path.startswith("/api/") else "text/event-stream"
    return _json(reference(operation.answer)) | ({events: {}} if operation.streams else {})


def _parameters(operation: ApiOperation) -> list[dict[str, Any]]:
    names = [part[1:-1] for part in operation.path.split("/") if part.startswith("{")]
    inside = [{"name": name, "in": "path", "required": True, "schema": TEXT} for name in names]
    resumed = _RESUMED if operation.method == "post" else _READ_AGAIN
    return [*inside, *(_PAGE if operation.is_listed else ()), *(resumed if operation.streams else ())]


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
_READ_AGAIN = (
    {"name": "stream", "in": "query", "schema": {"type": "boolean", "default": False}},
    {
        "name": "starting_after",
        "in": "query",
        "schema": {"type": "integer", "minimum": 0, "maximum": 999_999_999},
        "description": "Only the events after the one of this number",
    },
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
        "description": "Continue after this event of the same request's stream",
    },
)
