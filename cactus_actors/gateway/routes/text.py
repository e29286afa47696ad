"""/tokenize, /detokenize and /apply-template, in llama.cpp's format."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from litestar import post
from litestar.response.base import ASGIResponse

from cactus_actors.api.conversion import typed
from cactus_actors.api.openai import request_from_chat
from cactus_actors.api.option_rules import given_options
from cactus_actors.api.reasoning_options import reasoning_request
from cactus_actors.gateway.answers.job_responses import json_response
from cactus_actors.gateway.context import gateway_of
from cactus_actors.gateway.http.request_body import HttpRequest, read_json
from cactus_actors.protocol.errors import InvalidRequest, RequestTooComplex
from cactus_actors.protocol.messages import Submit
from cactus_actors.text import TextModel
from cactus_actors.text.tokenizer import BREAK

T = TypeVar("T")

LONG_TEXT = 1000
"""Characters or ids that block the loop for less than a millisecond; longer texts are queued for a thread."""
MAX_TEXT = 500_000
"""Characters or ids that take a tokenizer about a second."""


class TokenizeBody(msgspec.Struct, frozen=True, kw_only=True):
    """`content` becomes ids; with `with_pieces` each id has its text, or its bytes if they are not UTF-8."""

    content: str
    add_special: bool = False
    parse_special: bool = True
    with_pieces: bool = False
    model: str | None = None


class DetokenizeBody(msgspec.Struct, frozen=True, kw_only=True):
    """`tokens` become text."""

    tokens: list[int]
    model: str | None = None


@post("/tokenize", status_code=200)
async def tokenize(request: HttpRequest) -> ASGIResponse:
    """The token ids of a text."""
    gateway = gateway_of(request)
    body = await read_json(request, gateway.settings.max_body_bytes, lambda body: typed(body, TokenizeBody))
    _check_length(len(body.content), "content")
    text = gateway.text_of(body.model)

    def work() -> list[Any]:
        ids = text.tokenizer.encode(body.content, add_special=body.add_special, parse_special=body.parse_special)
        return [_piece(text, token) for token in ids] if body.with_pieces else ids

    return json_response({"tokens": await _done(request, work, len(body.content))})


@post("/detokenize", status_code=200)
async def detokenize(request: HttpRequest) -> ASGIResponse:
    """The text of token ids."""
    gateway = gateway_of(request)
    body = await read_json(request, gateway.settings.max_body_bytes, lambda body: typed(body, DetokenizeBody))
    _check_length(len(body.tokens), "tokens")
    tokenizer = gateway.text_of(body.model).tokenizer
    vocab_size = tokenizer.vocab_size
    for place, token in enumerate(body.tokens):
        if not 0 <= token < vocab_size:
            raise InvalidRequest(
                f"tokens[{place}] is {token!s:.40}, token ids are 0 to {vocab_size - 1}", param="tokens"
            )
    text = await _done(request, lambda: tokenizer.decode(body.tokens), len(body.tokens))
    return json_response({"content": text})


@post("/apply-template", status_code=200)
async def apply_template(request: HttpRequest) -> ASGIResponse:
    """The prompt of a conversation."""
    gateway = gateway_of(request)

    def convert(body: dict[str, Any]) -> Submit:
        return request_from_chat(body, lambda _: "0" * 32, profile=gateway.settings.chat_profile).submits[0]

    submit = await read_json(request, gateway.settings.max_body_bytes, convert)
    num_characters = len(msgspec.json.encode(submit.messages))
    text = gateway.text_of(submit.model)

    def work() -> str:
        asked = reasoning_request(given_options(submit.options))
        messages = [msgspec.to_builtins(message) for message in submit.messages or []]
        chat = text.chat_text(messages, submit.tools, thinking=asked.enabled, variables=asked.variables)
        return chat.text.replace(BREAK, "")

    return json_response({"prompt": await _in_text_queue(request, work, num_characters)})


def _check_length(length: int, param: str) -> None:
    if length > MAX_TEXT:
        raise RequestTooComplex(f"{param} is of length {length}, at most {MAX_TEXT} is allowed", param=param)


def _piece(text: TextModel, token: int) -> dict[str, Any]:
    data = text.tokenizer.token_bytes(token)
    try:
        return {"id": token, "piece": data.decode()}
    except UnicodeDecodeError:
        return {"id": token, "piece": list(data)}


async def _done(request: HttpRequest, work: Callable[[], T], length: int) -> T:
    """Result of `work` on a text of `length` characters or ids."""
    return await _in_text_queue(request, work, length) if length > LONG_TEXT else work()


async def _in_text_queue(request: HttpRequest, work: Callable[[], T], length: int) -> T:
    return await gateway_of(request).text_queue.result(request.scope["state"]["caller"], length, work)


HANDLERS = [tokenize, detokenize, apply_template]
