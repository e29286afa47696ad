"""/v1/embeddings."""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, TypeVar

import msgspec
from litestar import post
from litestar.response.base import ASGIResponse

from cactus_actors.api.conversion import typed
from cactus_actors.api.field_names import FieldNames, errors_name_fields_as_given
from cactus_actors.api.openai.prompt_field import Prompt, prompts_of
from cactus_actors.client.submit import EncodedSubmit, encoded
from cactus_actors.gateway.answers.job_responses import check_serves, hold_bytes, requested_model, whole_answer
from cactus_actors.gateway.context import gateway_of
from cactus_actors.gateway.http.identity import Identity
from cactus_actors.gateway.http.request_body import HttpRequest, read_json
from cactus_actors.protocol.errors import InvalidRequest, NotSupported
from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.results import Result

MAX_INPUTS = 1024
_NAMES = {"prompt": "input"}

T = TypeVar("T")
EncodingFormat = Literal["float", "base64"]


class EmbeddingsBody(msgspec.Struct, frozen=True, kw_only=True):
    """`input` is a text, token ids, or a list of either; each of them is one embedding of length 1.

    base64 holds little-endian float32.
    """

    input: Any = None
    model: str | None = None
    encoding_format: EncodingFormat | None = None
    dimensions: int | None = None
    user: str | None = None


@post("/v1/embeddings", status_code=200)
async def embeddings(request: HttpRequest) -> ASGIResponse:
    """Embeddings of texts: the model's pooled last hidden states."""
    gateway, identity = gateway_of(request), Identity.of(request)

    def convert(body: dict[str, Any]) -> tuple[tuple[str, EncodingFormat], list[EncodedSubmit]]:
        asked = typed(body, EmbeddingsBody)
        model = requested_model(gateway, asked.model)
        with errors_name_fields_as_given(_NAMES):
            jobs = _jobs(asked, model, identity)
        return (model, asked.encoding_format or "float"), jobs

    def render(given: tuple[str, EncodingFormat], results: Sequence[Result]) -> dict[str, Any]:
        model, encoding_format = given
        num_tokens = sum(result.usage.prompt_tokens for result in results)
        return {
            "id": f"embd-{identity.request_id}",
            "object": "list",
            "data": [
                {
                    "object": "embedding",
                    "index": index,
                    "embedding": _written(result.embedding or [], encoding_format),
                }
                for index, result in enumerate(results)
            ],
            "model": model,
            "usage": {"prompt_tokens": num_tokens, "total_tokens": num_tokens},
        }

    return await answer_from_embeddings(request, identity, convert, render, _NAMES)


async def answer_from_embeddings(
    request: HttpRequest,
    identity: Identity,
    convert: Callable[[dict[str, Any]], tuple[T, list[EncodedSubmit]]],
    render: Callable[[T, Sequence[Result]], dict[str, Any]],
    names: FieldNames,
) -> ASGIResponse:
    """The answer that `render` makes of the jobs of a body, and of what else `convert` makes of it."""
    gateway = gateway_of(request)
    given, submits = await read_json(request, gateway.settings.max_body_bytes, convert)
    hold_bytes(request, sum(submit.num_bytes for submit in submits))
    await check_serves(gateway, identity)
    return await whole_answer(gateway, request, identity, submits, partial(render, given), names=names)


def _jobs(asked: EmbeddingsBody, model: str, identity: Identity) -> list[EncodedSubmit]:
    if asked.dimensions is not None:
        raise NotSupported("dimensions is not supported: this model's embeddings have a fixed size", param="dimensions")
    return embedding_jobs(inputs_of(asked.input), model, identity, asked.user)


def embedding_jobs(prompts: Sequence[Prompt], model: str, identity: Identity, user: str | None) -> list[EncodedSubmit]:
    """A job for the embedding of each prompt."""
    options = Options(max_tokens=0, user=user)
    return [
        encoded(
            identity.owned(
                Submit(job_id=identity.job_id(place), prompt=prompt, model=model, task="embed", options=options)
            )
        )
        for place, prompt in enumerate(prompts)
    ]


def inputs_of(value: object) -> list[Prompt]:
    with errors_name_fields_as_given(_NAMES):
        prompts = prompts_of(value)
    if len(prompts) > MAX_INPUTS:
        raise InvalidRequest(f"{len(prompts)} inputs, at most {MAX_INPUTS} are allowed", param="input")
    if any(given.images for given in prompts):
        raise NotSupported("pictures have no embedding here", param="input")
    return [given.prompt for given in prompts]


def _written(embedding: list[float], form: EncodingFormat) -> list[float] | str:
    if form == "float":
        return embedding
    return base64.b64encode(struct.pack(f"<{len(embedding)}f", *embedding)).decode()


HANDLERS = [embeddings]
