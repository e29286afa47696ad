"""JSON schemas of response bodies for the OpenAPI document."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
COUNT: Schema = {"type": "integer", "minimum": 0}
BOOLEAN: Schema = {"type": "boolean"}


def reference(name: str) -> Schema:
    """The schema of that name."""
    return {"$ref": f"#/components/schemas/{name}"}


def object_of(properties: dict[str, Schema], required: list[str]) -> Schema:
    """An object that may have other properties."""
    return {"type": "object", "properties": properties, "required": required}


def record_of(**properties: Schema) -> Schema:
    """An object that has all of these properties, and may have others."""
    return object_of(properties, [*properties])


def list_of(items: Schema) -> Schema:
    """An array."""
    return {"type": "array", "items": items}


def or_null(schema: Schema) -> Schema:
    """A schema that also allows null."""
    return {"anyOf": [schema, {"type": "null"}]}


def _page_of(name: str) -> Schema:
    ends = {"first_id": or_null(TEXT), "last_id": or_null(TEXT), "has_more": BOOLEAN}
    return record_of(object={"const": "list"}, data=list_of(reference(name)), **ends)


def _one_of(*values: str) -> Schema:
    return {"enum": list(values)}


_CALL = record_of(
    id=TEXT,
    type={"const": "function"},
    function=record_of(name=TEXT, arguments=TEXT),
)
_TOKEN = record_of(token=TEXT, logprob=or_null(NUMBER), bytes=list_of({"type": "integer"}))
_CHAT_LOGPROBS = record_of(content=list_of(record_of(**_TOKEN["properties"], top_logprobs=list_of(_TOKEN))))
_TEXT_LOGPROBS = record_of(
    tokens=list_of(TEXT),
    token_logprobs=list_of(or_null(NUMBER)),
    top_logprobs=list_of(or_null({"type": "object", "additionalProperties": NUMBER})),
    text_offset=list_of(COUNT),
)
_MESSAGE = object_of(
    {
        "role": {"const": "assistant"},
        "content": or_null(TEXT),
        "reasoning_content": TEXT,
        "reasoning": TEXT,
        "tool_calls": list_of(_CALL),
    },
    ["role", "content"],
)
_USAGE = record_of(
    prompt_tokens=COUNT,
    completion_tokens=COUNT,
    total_tokens=COUNT,
    prompt_tokens_details=record_of(cached_tokens=COUNT),
    completion_tokens_details=record_of(reasoning_tokens=COUNT),
)
_STOP = {"stop_reason": {"type": ["string", "integer", "null"]}}
_CHAT_CHOICE = record_of(
    index=COUNT,
    message=_MESSAGE,
    logprobs=or_null(_CHAT_LOGPROBS),
    finish_reason=_one_of("stop", "length", "model_length", "tool_calls", "cancelled"),
    **_STOP,
)
_TEXT_CHOICE = record_of(
    index=COUNT,
    text=TEXT,
    logprobs=or_null(_TEXT_LOGPROBS),
    finish_reason=_one_of("stop", "length", "cancelled"),
    **_STOP,
)


def _completion_of(kind: str, choice: Schema) -> Schema:
    return record_of(
        id=TEXT,
        object={"const": kind},
        created=COUNT,
        model=TEXT,
        choices=list_of(choice),
        usage=_USAGE,
        system_fingerprint=or_null(TEXT),
    )


_LLAMA_CPP_ANSWER = record_of(
    index=COUNT,
    content=TEXT,
    tokens=list_of(COUNT),
    stop=BOOLEAN,
    stop_type=_one_of("limit", "word", "eos", "none"),
    stopping_word=TEXT,
    model=TEXT,
    tokens_predicted=COUNT,
    tokens_evaluated=COUNT,
    timings={"type": "object"},
)
_PIECE = record_of(id=COUNT, piece={"anyOf": [TEXT, list_of({"type": "integer"})]})

ANSWERS: dict[str, Schema] = {
    "ChatCompletion": _completion_of("chat.completion", _CHAT_CHOICE),
    "TextCompletion": _completion_of("text_completion", _TEXT_CHOICE),
    "LlamaCppCompletion": {"anyOf": [_LLAMA_CPP_ANSWER, list_of(_LLAMA_CPP_ANSWER)]},
    "Response": record_of(
        id=TEXT,
        object={"const": "response"},
        created_at=COUNT,
        status=_one_of("queued", "in_progress", "completed", "incomplete", "failed", "cancelled"),
        model=TEXT,
        output=list_of(record_of(id=TEXT, type=_one_of("message", "reasoning", "function_call"), status=TEXT)),
        usage=or_null(record_of(input_tokens=COUNT, output_tokens=COUNT, total_tokens=COUNT)),
        error=or_null(record_of(code=TEXT, message=TEXT)),
    ),
    "ResponseDeleted": record_of(id=TEXT, object={"const": "response"}, deleted=BOOLEAN),
    "ResponseItem": record_of(id=TEXT, type=TEXT),
    "InputItems": _page_of("ResponseItem"),
    "InputTokens": record_of(object={"const": "response.input_tokens"}, input_tokens=COUNT),
    "Message": record_of(
        id=TEXT,
        type={"const": "message"},
        role={"const": "assistant"},
        model=TEXT,
        content=list_of(record_of(type=_one_of("text", "thinking", "tool_use"))),
        stop_reason=_one_of("end_turn", "max_tokens", "model_context_window_exceeded", "stop_sequence", "tool_use"),
        stop_sequence=or_null(TEXT),
        usage=record_of(input_tokens=COUNT, cache_read_input_tokens=COUNT, output_tokens=COUNT),
    ),
    "MessageTokens": record_of(input_tokens=COUNT),
    "MessageBatch": record_of(
        id=TEXT,
        type={"const": "message_batch"},
        processing_status=_one_of("in_progress", "canceling", "ended"),
        request_counts=record_of(processing=COUNT, succeeded=COUNT, errored=COUNT, canceled=COUNT, expired=COUNT),
        created_at=TEXT,
        expires_at=TEXT,
        ended_at=or_null(TEXT),
        results_url=or_null(TEXT),
    ),
    "MessageBatchList": record_of(
        data=list_of(reference("MessageBatch")),
        has_more=BOOLEAN,
        first_id=or_null(TEXT),
        last_id=or_null(TEXT),
    ),
    "MessageBatchDeleted": record_of(id=TEXT, type={"const": "message_batch_deleted"}),
    "MessageError": record_of(
        type={"const": "error"},
        error=record_of(type=TEXT, message=TEXT, param=or_null(TEXT), code=TEXT),
        request_id=TEXT,
    ),
    "Embeddings": record_of(
        object={"const": "list"},
        data=list_of(
            record_of(
                object={"const": "embedding"},
                index=COUNT,
                embedding={"anyOf": [list_of(NUMBER), TEXT]},
            )
        ),
        model=TEXT,
        usage=record_of(prompt_tokens=COUNT, total_tokens=COUNT),
    ),
    "OllamaAnswer": record_of(model=TEXT, created_at=TEXT, done=BOOLEAN, done_reason=_one_of("stop", "length", "load")),
    "OllamaEmbeddings": record_of(model=TEXT, embeddings=list_of(list_of(NUMBER))),
    "OllamaEmbedding": record_of(model=TEXT, embedding=list_of(NUMBER)),
    "OllamaModels": record_of(models=list_of(record_of(name=TEXT, model=TEXT, digest=TEXT))),
    "OllamaModel": record_of(capabilities=list_of(TEXT), model_info={"type": "object"}),
    "OllamaVersion": record_of(version=TEXT),
    "OllamaError": record_of(error=TEXT, type=TEXT, param=or_null(TEXT), request_id=TEXT),
    "Ranking": record_of(
        id=TEXT,
        object={"const": "list"},
        model=TEXT,
        results=list_of(record_of(index=COUNT, relevance_score=NUMBER)),
        usage=record_of(prompt_tokens=COUNT, total_tokens=COUNT),
    ),
    "Scores": record_of(
        id=TEXT,
        object={"const": "list"},
        model=TEXT,
        data=list_of(record_of(index=COUNT, object={"const": "score"}, score=NUMBER)),
        usage=record_of(prompt_tokens=COUNT, total_tokens=COUNT),
    ),
    "Model": record_of(
        id=TEXT,
        object={"const": "model"},
        created=COUNT,
        owned_by=TEXT,
        aliases=list_of(TEXT),
        state=or_null(TEXT),
    ),
    "ModelList": record_of(object={"const": "list"}, data=list_of(reference("Model"))),
    "AdapterLoaded": record_of(lora_name=TEXT, num_workers=COUNT),
    "AdapterUnloaded": record_of(lora_name=TEXT),
    "NumWorkers": record_of(num_workers=COUNT),
    "File": record_of(
        id=TEXT,
        object={"const": "file"},
        bytes=COUNT,
        created_at=COUNT,
        expires_at=COUNT,
        filename=TEXT,
        purpose=TEXT,
        status=TEXT,
    ),
    "FileList": _page_of("File"),
    "FileDeleted": record_of(id=TEXT, object={"const": "file"}, deleted=BOOLEAN),
    "Batch": record_of(
        id=TEXT,
        object={"const": "batch"},
        endpoint=TEXT,
        input_file_id=TEXT,
        status=TEXT,
        output_file_id=or_null(TEXT),
        error_file_id=or_null(TEXT),
        created_at=COUNT,
        request_counts=record_of(total=COUNT, completed=COUNT, failed=COUNT),
    ),
    "BatchList": _page_of("Batch"),
    "Tokens": record_of(tokens=list_of({"anyOf": [COUNT, _PIECE]})),
    "Text": record_of(content=TEXT),
    "Prompt": record_of(prompt=TEXT),
    "Request": record_of(
        id=TEXT,
        object={"const": "request"},
        state=_one_of("running", "ended"),
        choices=list_of(record_of(index=COUNT, state=TEXT)),
    ),
    "RequestCancelled": record_of(id=TEXT, object={"const": "request"}, states=list_of(TEXT)),
    "Health": record_of(status={"const": "ok"}),
    "Error": record_of(
        error=record_of(
            message=TEXT,
            type=TEXT,
            code={"type": "integer"},
            param=or_null(TEXT),
            request_id=TEXT,
        )
    ),
}
