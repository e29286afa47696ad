"""The OpenAPI document of the gateway, made from the types that its bodies are read with."""

from __future__ import annotations

import importlib.metadata
from typing import Any, NamedTuple

import msgspec

from cactus_actors.gateway.infill import InfillBody
from cactus_actors.gateway.routes.batches import BatchBody
from cactus_actors.gateway.routes.embeddings import EmbeddingsBody
from cactus_actors.gateway.routes.text import DetokenizeBody, TokenizeBody
from cactus_actors.protocol.messages import ChatMessage
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.results import Result

_BODIES = (BatchBody, EmbeddingsBody, TokenizeBody, DetokenizeBody, InfillBody)
_ERRORS = {
    "400": "The request can never succeed as written; `param` names the field.",
    "401": "No API key, or a wrong one.",
    "404": "There is no such model, request, file or batch.",
    "409": "The Idempotency-Key was used before for another request.",
    "413": "The body is too big.",
    "415": "The body is not plain JSON.",
    "429": "Too much waits already; Retry-After says when to come back.",
    "503": "The service is loading, stopping or gone; Retry-After says when to come back.",
    "504": "The request's own deadline passed.",
}


class Operation(NamedTuple):
    """One method of one path; `body` is a schema's name, or a media type of its own."""

    method: str
    path: str
    summary: str
    group: str
    body: str | None = None
    answers: str = "application/json"


OPERATIONS = (
    Operation("post", "/v1/chat/completions", "Answer a conversation", "OpenAI", "ChatBody"),
    Operation("post", "/v1/completions", "Complete a prompt, or several", "OpenAI", "CompletionBody"),
    Operation("post", "/v1/embeddings", "Texts as vectors", "OpenAI", "EmbeddingsBody"),
    Operation("get", "/v1/models", "The models that are served", "OpenAI"),
    Operation("get", "/v1/models/{model}", "One model", "OpenAI"),
    Operation("post", "/v1/files", "Upload a prompt file", "Batches", "multipart/form-data"),
    Operation("get", "/v1/files", "List files", "Batches"),
    Operation("get", "/v1/files/{file_id}", "One file", "Batches"),
    Operation(
        "get", "/v1/files/{file_id}/content", "A file's content", "Batches", None, "application/octet-stream"
    ),
    Operation("delete", "/v1/files/{file_id}", "Delete a file", "Batches"),
    Operation("post", "/v1/batches", "Run a prompt file", "Batches", "BatchBody"),
    Operation("get", "/v1/batches", "List batches", "Batches"),
    Operation("get", "/v1/batches/{batch_id}", "One batch", "Batches"),
    Operation("post", "/v1/batches/{batch_id}/cancel", "Stop a batch", "Batches"),
    Operation("post", "/completion", "Complete a prompt, or several", "llama.cpp", "LlamaCppBody"),
    Operation("post", "/infill", "Write between a prefix and a suffix", "llama.cpp", "InfillBody"),
    Operation("post", "/tokenize", "Text to token ids", "llama.cpp", "TokenizeBody"),
    Operation("post", "/detokenize", "Token ids to text", "llama.cpp", "DetokenizeBody"),
    Operation(
        "post", "/apply-template", "A conversation as the prompt that it becomes", "llama.cpp", "ChatBody"
    ),
    Operation("get", "/v1/requests/{request_id}", "What became of a request", "Requests"),
    Operation("delete", "/v1/requests/{request_id}", "Cancel a request", "Requests"),
    Operation("get", "/health", "Whether requests are answered", "Health"),
    Operation("get", "/readyz", "Whether to send requests here", "Health"),
    Operation("get", "/healthz", "Whether this process answers", "Health"),
    Operation("get", "/metrics", "Counters for Prometheus", "Health", None, "text/plain"),
)


def document() -> dict[str, Any]:
    """The whole document, OpenAPI 3.1."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "cactus-actors",
            "version": _version(),
            "description": "Small language models on ordinary CPUs. Fields and defaults: docs/api.md.",
        },
        "paths": paths,
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"key": []}, {}],
    }


def _version() -> str:
    try:
        return importlib.metadata.version("cactus-actors")
    except importlib.metadata.PackageNotFoundError:
        return ""


def _operation(operation: Operation) -> dict[str, Any]:
    written: dict[str, Any] = {
        "operationId": f"{operation.method}{operation.path.translate(str.maketrans('/-{}', '____'))}",
        "summary": operation.summary,
        "tags": [operation.group],
        "responses": {
            "200": {"description": "The answer", "content": {operation.answers: {}}},
            **{
                status: {
                    "description": text,
                    "content": {"application/json": {"schema": _reference("Error")}},
                }
                for status, text in _ERRORS.items()
            },
        },
    }
    names = [part[1:-1] for part in operation.path.split("/") if part.startswith("{")]
    if names:
        written["parameters"] = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names
        ]
    if operation.body == "multipart/form-data":
        written["requestBody"] = {"required": True, "content": {operation.body: {"schema": _UPLOAD}}}
    elif operation.body is not None:
        content = {"application/json": {"schema": _reference(operation.body)}}
        written["requestBody"] = {"required": True, "content": content}
    return written


def _schemas() -> dict[str, Any]:
    _, components = msgspec.json.schema_components(
        [Options, ChatMessage, Result, *_BODIES], ref_template="#/components/schemas/{name}"
    )
    schemas: dict[str, Any] = dict(components)
    options: dict[str, Any] = schemas["Options"]["properties"]
    common = options | _COMMON
    tools = {"type": "array", "items": {"type": "object"}}
    messages = {"type": "array", "items": _reference("ChatMessage"), "minItems": 1}
    schemas["ChatBody"] = _object(common | {"messages": messages, "tools": tools}, ["messages"])
    schemas["CompletionBody"] = _object(common | {"prompt": _PROMPT}, ["prompt"])
    schemas["LlamaCppBody"] = _object(common | _LLAMA_CPP | {"prompt": _PROMPT}, ["prompt"])
    infill = schemas["InfillBody"]["properties"]
    schemas["InfillBody"] = _object(common | _LLAMA_CPP | infill, [])
    schemas["Error"] = _object({"error": _object(_ERROR, ["message", "type", "code"])}, ["error"])
    return schemas


def _reference(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}


_UPLOAD = {
    "type": "object",
    "properties": {
        "purpose": {"const": "batch"},
        "file": {"type": "string", "contentMediaType": "application/octet-stream"},
    },
    "required": ["purpose", "file"],
}
_COMMON: dict[str, Any] = {
    "model": {"type": ["string", "null"]},
    "n": {"type": ["integer", "null"], "minimum": 1, "maximum": 16},
    "stream": {"type": ["boolean", "null"]},
    "stream_options": {
        "anyOf": [_object({"include_usage": {"type": ["boolean", "null"]}}, []), {"type": "null"}]
    },
    "return_raw_tokens": {"type": ["boolean", "null"]},
}
_PROMPT: dict[str, Any] = {
    "anyOf": [
        {"type": "string"},
        {"type": "array", "items": {"type": "integer"}},
        {"type": "array", "items": {"type": "string"}},
        {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "string"}]}},
        {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
    ]
}
_LLAMA_CPP: dict[str, Any] = {
    "n_predict": {"type": ["integer", "null"]},
    "n_probs": {"type": ["integer", "null"]},
    "t_max_predict_ms": {"type": ["integer", "null"]},
    "return_tokens": {"type": ["boolean", "null"]},
}
_ERROR: dict[str, Any] = {
    "message": {"type": "string"},
    "type": {"type": "string"},
    "code": {"type": "integer"},
    "param": {"type": ["string", "null"]},
    "request_id": {"type": "string"},
}
