"""/completion: the native endpoint of llama.cpp's server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from litestar import post
from litestar.response.base import ASGIResponse

from cactus_actors.api.field_names import FieldNames, errors_name_fields_as_given, given_names
from cactus_actors.api.openai import BodyRequest, request_from_completion
from cactus_actors.gateway.answers.job_responses import read_jobs, streamed_answer, whole_answer, with_model
from cactus_actors.gateway.answers.llama_cpp_bodies import LlamaCppBody, LlamaCppChunks
from cactus_actors.gateway.answers.streaming_response import LLAMA_CPP_STREAM
from cactus_actors.gateway.context import GatewayContext, gateway_of
from cactus_actors.gateway.http.identity import Identity
from cactus_actors.gateway.http.request_body import HttpRequest
from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.results import Result

ALIASES = {"n_predict": "max_tokens", "n_probs": "logprobs", "t_max_predict_ms": "timeout_ms"}
"""llama.cpp's name -> ours"""


@post(["/completion", "/completions"], status_code=200)
async def completion(request: HttpRequest) -> ASGIResponse:
    """Complete a prompt, or several, in llama.cpp's shapes."""
    gateway = gateway_of(request)
    return await complete(gateway, request, lambda body: (body, "prompt"))


async def complete(
    gateway: GatewayContext, request: HttpRequest, change: Callable[[dict[str, Any]], tuple[dict[str, Any], str]]
) -> ASGIResponse:
    """The response to a body in llama.cpp's format.

    `change` converts the client's body, and returns the prompt's name in it.
    """
    identity, settings = Identity.of(request), gateway.settings
    returns_tokens = False

    def convert(body: dict[str, Any]) -> tuple[BodyRequest, FieldNames]:
        nonlocal returns_tokens
        body, prompt_name = change(body)
        returns_tokens = bool(body.get("return_tokens"))
        names = given_names(body, ALIASES) | {"prompt": prompt_name}
        profile, strict = settings.completions_profile, settings.strict
        with errors_name_fields_as_given(names):
            body = with_model(gateway, with_native_fields(body))
            asked = request_from_completion(body, identity.job_id, profile=profile, strict=strict)
        return asked, {**names, **asked.field_names}

    jobs = await read_jobs(gateway, request, identity, convert)
    asked = jobs.asked
    written = LlamaCppBody(asked, gateway.model, returns_tokens=returns_tokens)
    if asked.stream:
        chunks = LlamaCppChunks(written)
        return await streamed_answer(
            gateway, request, identity, jobs.submits, chunks, names=jobs.names, form=LLAMA_CPP_STREAM
        )

    def render(results: Sequence[Result]) -> Any:
        bodies = [written.whole(choice, result) for choice, result in enumerate(results)]
        return bodies[0] if len(bodies) == 1 else bodies

    return await whole_answer(gateway, request, identity, jobs.submits, render, names=jobs.names)


def with_native_fields(body: dict[str, Any]) -> dict[str, Any]:
    """The equivalent body of /v1/completions; raises InvalidRequest for a field given twice."""
    ours = {name: value for name, value in body.items() if name not in ALIASES and name != "return_tokens"}
    for theirs, name in ALIASES.items():
        value = body.get(theirs)
        if value is None or (theirs == "n_probs" and value == 0):
            continue
        if ours.get(name, value) != value:
            raise InvalidRequest(f"{theirs} and {name} are one field and were given two values", param=theirs)
        ours[name] = value
    return ours


HANDLERS = [completion]
