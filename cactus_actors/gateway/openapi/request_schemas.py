"""JSON schemas of request bodies for the OpenAPI document."""

from __future__ import annotations

from typing import Any

import msgspec

from cactus_actors.api.anthropic.message_fields import MessagesBody
from cactus_actors.api.field_names import OPTION_ALIASES
from cactus_actors.api.ollama.chat_requests import OllamaBody
from cactus_actors.api.openai.reasoning_fields import FORMATS, SWITCHES, ReasoningFields
from cactus_actors.api.openai.request_bodies import MAX_N
from cactus_actors.api.option_ranges import MAX_LABEL, MAX_LOGIT_BIAS, RANGES
from cactus_actors.api.reasoning_options import EFFORTS, MAX_TEMPLATE_VARIABLES
from cactus_actors.api.responses import ResponsesBody
from cactus_actors.gateway.openapi.response_schemas import (
    BOOLEAN,
    TEXT,
    Schema,
    list_of,
    object_of,
    or_null,
    record_of,
    reference,
)
from cactus_actors.gateway.routes.adapters import LoadAdapterBody, UnloadAdapterBody
from cactus_actors.gateway.routes.batches import WINDOW, BatchBody
from cactus_actors.gateway.routes.embeddings import EmbeddingsBody
from cactus_actors.gateway.routes.files import PURPOSE
from cactus_actors.gateway.routes.infill import InfillBody
from cactus_actors.gateway.routes.message_batches import MessageBatchBody
from cactus_actors.gateway.routes.ollama import EmbedBody, ShowBody
from cactus_actors.gateway.routes.operations import DrainBody, RestartBody, ScaleBody
from cactus_actors.gateway.routes.rerank import RerankBody, ScoreBody
from cactus_actors.gateway.routes.text import DetokenizeBody, TokenizeBody
from cactus_actors.protocol.exact_integers import MAX_EXACT
from cactus_actors.protocol.messages import ChatMessage
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.results import Result

_TYPES = (
    Options,
    ChatMessage,
    ReasoningFields,
    Result,
    BatchBody,
    EmbeddingsBody,
    TokenizeBody,
    DetokenizeBody,
    InfillBody,
    LoadAdapterBody,
    UnloadAdapterBody,
    ScaleBody,
    RestartBody,
    DrainBody,
    MessagesBody,
    MessageBatchBody,
    ResponsesBody,
    RerankBody,
    ScoreBody,
    OllamaBody,
    EmbedBody,
    ShowBody,
)
_ID: Schema = {"type": "integer"}
_PROMPT_LIST: Schema = {"type": "array", "items": {"anyOf": [_ID, TEXT]}, "minItems": 1}
_MEDIA_PROMPT = object_of(
    {"prompt_string": TEXT, "multimodal_data": or_null({"type": "array", "items": TEXT})}, ["prompt_string"]
)
_PROMPT: Schema = {
    "anyOf": [
        TEXT,
        _PROMPT_LIST,
        _MEDIA_PROMPT,
        {
            "type": "array",
            "items": {"anyOf": [TEXT, _PROMPT_LIST, _MEDIA_PROMPT]},
            "minItems": 1,
        },
    ]
}
_COMMON: dict[str, Schema] = {
    "model": or_null(TEXT),
    "n": or_null({"type": "integer", "minimum": 1, "maximum": MAX_N}),
    "stream": or_null(BOOLEAN),
    "stream_options": or_null(object_of({"include_usage": or_null(BOOLEAN)}, [])),
    "return_raw_tokens": or_null(BOOLEAN),
}
_LLAMA_CPP: dict[str, Schema] = {
    "n_predict": or_null(_ID),
    "n_probs": or_null(_ID),
    "t_max_predict_ms": or_null(_ID),
    "return_tokens": or_null(BOOLEAN),
}
UPLOAD = record_of(
    purpose={"const": PURPOSE},
    file={"type": "string", "contentMediaType": "application/octet-stream"},
)


def body_schemas() -> dict[str, Schema]:
    """The schemas of all bodies and their parts, by name."""
    _, components = msgspec.json.schema_components(_TYPES, ref_template="#/components/schemas/{name}")
    schemas: dict[str, Schema] = dict(components)
    for kind in (TokenizeBody, DetokenizeBody, InfillBody, BatchBody, RerankBody, ScoreBody, OllamaBody):
        _let_null_be_absent(schemas[kind.__name__])
    common = _options(schemas["Options"]["properties"]) | _COMMON
    message = schemas["ChatMessage"]
    message["additionalProperties"] = True
    message["properties"]["prefix"] = or_null(BOOLEAN)
    message["properties"]["reasoning"] = or_null(TEXT)
    messages = {"type": "array", "items": reference("ChatMessage"), "minItems": 1}
    tools = or_null(list_of({"type": "object"}))
    reasoning = schemas.pop("ReasoningFields")["properties"]
    reasoning["reasoning_format"] = or_null({"enum": [*FORMATS]})
    schemas["ThinkingObject"]["properties"]["type"] = or_null({"enum": [*SWITCHES]})
    chat = common | reasoning | {"messages": messages, "tools": tools}
    schemas["ChatBody"] = object_of(chat, ["messages"])
    in_messages = {**schemas["MessagesBody"]["properties"], "messages": list_of(reference("MessageTurn"))}
    schemas["MessagesBody"] = object_of(common | {"thinking": reasoning["thinking"]} | in_messages, ["messages"])
    schemas["BatchedMessage"]["properties"]["params"] = {
        "type": "object",
        "description": "The fields of a MessagesBody, which are checked when it runs",
    }
    schemas["ResponsesBody"] = object_of(common | schemas["ResponsesBody"]["properties"], ["input"])
    schemas["CompletionBody"] = object_of(common | {"prompt": _PROMPT}, ["prompt"])
    schemas["LlamaCppBody"] = object_of(common | _LLAMA_CPP | {"prompt": _PROMPT}, ["prompt"])
    schemas["InfillBody"] = object_of(common | _LLAMA_CPP | schemas["InfillBody"]["properties"], [])
    schemas["EmbeddingsBody"]["properties"] |= {"input": _PROMPT, "dimensions": {"type": "null"}}
    schemas["EmbeddingsBody"]["required"] = ["input"]
    schemas["BatchBody"]["properties"]["completion_window"] = {"enum": [WINDOW, None]}
    return schemas


def _let_null_be_absent(schema: Schema) -> None:
    properties = schema["properties"]
    for name in properties.keys() - {*schema["required"]}:
        properties[name] = or_null(properties[name])


def _options(written: dict[str, Schema]) -> dict[str, Schema]:
    """The options with the ranges that they are checked against."""
    limits: dict[str, dict[str, Any]] = {
        name: {"minimum": lowest, "maximum": min(highest, MAX_EXACT)}  # a larger seed is its digits
        for name, (lowest, highest) in RANGES.items()
    }
    limits |= {name: {"maxLength": MAX_LABEL} for name in ("cache_salt", "user", "lora")}
    limits |= {"prompt_mode": {"const": "reasoning"}, "logit_bias": {"maxProperties": MAX_LOGIT_BIAS}}
    limits |= {
        "reasoning_effort": {"enum": [*EFFORTS]},
        "chat_template_kwargs": {"maxProperties": MAX_TEMPLATE_VARIABLES},
    }
    limits |= {alias: limits[name] for alias, name in OPTION_ALIASES.items() if name in limits}
    for name, limit in limits.items():
        written[name]["anyOf"][0] |= limit
    for name in ("stop", "stop_sequences"):
        one, many, _ = written[name]["anyOf"]
        one["minLength"] = many["items"]["minLength"] = 1
    return written
