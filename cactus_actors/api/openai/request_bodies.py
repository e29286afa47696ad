"""Request bodies of OpenAI's completion endpoints -> BodyRequest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from cactus_actors.api.conversion import converted
from cactus_actors.api.field_names import FieldNames, errors_name_fields_as_given
from cactus_actors.api.openai.body_request import BodyRequest, Endpoint
from cactus_actors.api.openai.prompt_field import prompts_of
from cactus_actors.api.openai.reasoning_fields import ReasoningFields, reasoning_format, with_spelled_options
from cactus_actors.api.option_rules import with_defaults, with_seed
from cactus_actors.api.params import resolve_options
from cactus_actors.api.profiles import PROFILES
from cactus_actors.protocol.content_part import ContentPart
from cactus_actors.protocol.errors import InvalidRequest, NotSupported
from cactus_actors.protocol.messages import ChatMessage, Role, Submit
from cactus_actors.protocol.options import Options, ProfileName
from cactus_actors.protocol.pictures import GivenPicture
from cactus_actors.protocol.similar_name import similar_name
from cactus_actors.tools.tool_definitions import normalised_tools

CHAT_COMPLETIONS = "/v1/chat/completions"
COMPLETIONS = "/v1/completions"
MAX_N = 16
MAX_CHOICES = 1024

NO_DEFAULTS = Options()

JobIds = Callable[[int], str]
"""The job id of each choice of a request."""

IMAGE_NAMES: FieldNames = {"images": "prompt.multimodal_data"}
"""The field of a body with the pictures of a job's prompt."""

# field -> its values without effect; any other value requests a feature that is not supported
_NEUTRAL: dict[str, tuple[object, ...]] = {
    "audio": (None,),
    "modalities": (None, ["text"]),
    "functions": (None, []),
    "function_call": (None, "none", "auto"),
}


class _Message(msgspec.Struct, frozen=True):
    """A turn as clients send it, without fields of answers that clients repeat and that are not read here."""

    role: Role
    content: str | list[ContentPart] | None = None
    name: str | None = None
    tool_calls: list[dict[str, Any]] | None = None
    tool_call_id: str | None = None
    prefix: bool | None = None
    images: list[GivenPicture] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None


class _StreamOptions(msgspec.Struct, frozen=True):
    include_usage: bool | None = None


class _Common(msgspec.Struct, frozen=True):
    model: str | None = None
    n: int | None = None
    best_of: int | None = None
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    return_raw_tokens: bool | None = None


class _Chat(_Common, frozen=True):
    messages: list[_Message] | None = None
    tools: list[dict[str, Any]] | None = None


class _Completion(_Common, frozen=True):
    prompt: Any = None


def request_from_body(
    url: str,
    body: object,
    job_id_of: JobIds,
    *,
    profile: ProfileName | None = None,
    defaults: Options = NO_DEFAULTS,
    strict: bool = False,
) -> BodyRequest:
    """The jobs of `body` at `url`; without a `profile` the endpoint's own applies.

    `defaults` fill in absent options, before the profile's. Raises InvalidRequest naming the field in `param`, and
    NotSupported for features that this service does not have. An unknown field is listed in `ignored`, or refused
    if `strict`.
    """
    match url:
        case "/v1/chat/completions":
            return request_from_chat(body, job_id_of, profile=profile or "cactus", defaults=defaults, strict=strict)
        case "/v1/completions":
            return request_from_completion(
                body, job_id_of, profile=profile or "llamacpp", defaults=defaults, strict=strict
            )
    raise InvalidRequest(f"url must be {CHAT_COMPLETIONS} or {COMPLETIONS}, got {url[:100]!r}", param="url")


def request_from_chat(
    body: object,
    job_id_of: JobIds,
    *,
    profile: ProfileName = "cactus",
    defaults: Options = NO_DEFAULTS,
    strict: bool = False,
) -> BodyRequest:
    """The request of a chat-completions body; see `request_from_body`."""
    fields, ignored = _known_fields(body, _Chat, strict, but=ReasoningFields.__struct_fields__)
    chat, reasoning = converted(fields, _Chat), converted(fields, ReasoningFields)
    if chat.messages is None:
        raise InvalidRequest("messages is required", param="messages")
    if not chat.messages:
        raise InvalidRequest("messages must not be empty", param="messages")
    fields, names = with_spelled_options(fields, reasoning)
    with errors_name_fields_as_given(names):
        options = _options(fields, profile, defaults)
    job = Submit(
        job_id="",
        messages=[_chat_message(message) for message in chat.messages],
        tools=normalised_tools(chat.tools),
        model=chat.model,
        options=options,
        profile=profile,
    )
    for name in ("echo", "suffix"):
        if fields.get(name) not in (None, False):
            raise InvalidRequest(f"{name} goes with a prompt, not with messages", param=name)
    request = _request("chat", [job], chat, job_id_of, ignored)
    return msgspec.structs.replace(request, reasoning_format=reasoning_format(reasoning), field_names=names)


def request_from_completion(
    body: object,
    job_id_of: JobIds,
    *,
    profile: ProfileName = "llamacpp",
    defaults: Options = NO_DEFAULTS,
    strict: bool = False,
) -> BodyRequest:
    """The request of a completions body; see `request_from_body`."""
    fields, ignored = _known_fields(body, _Completion, strict, but=("tools",))
    if fields.get("tools"):
        raise NotSupported("tools need messages, not a prompt", param="tools")
    completion = converted(fields, _Completion)
    options = _options(fields, profile, defaults)
    job = Submit(job_id="", model=completion.model, options=options, profile=profile)
    jobs = [
        msgspec.structs.replace(job, prompt=given.prompt, images=given.images)
        for given in prompts_of(completion.prompt)
    ]
    request = _request("completion", jobs, completion, job_id_of, ignored)
    return msgspec.structs.replace(request, field_names=IMAGE_NAMES) if any(job.images for job in jobs) else request


def _known_fields(
    body: object, kind: type[_Common], strict: bool, but: tuple[str, ...] = ()
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The fields of a body, and the names of the unknown ones."""
    if not isinstance(body, dict):
        raise InvalidRequest(f"the body must be a JSON object, not {type(body).__name__}", param="body")
    for name, neutral in _NEUTRAL.items():
        if body.get(name) not in neutral:
            raise NotSupported(f"{name} is not supported here", param=name)
    if body.get("images") not in (None, []):
        place = "a message" if kind is _Chat else "prompt.multimodal_data"
        raise InvalidRequest(f"images of a request belong in {place}", param="images")
    known = {*Options.__struct_fields__, *kind.__struct_fields__, *_NEUTRAL, *but}
    ignored = tuple(name for name in body if name not in known)
    if ignored and strict:
        hint = similar_name(ignored[0], known)
        raise InvalidRequest(f"unknown field {ignored[0]!r:.80}{hint}", param=ignored[0][:80])
    return body, ignored


def _options(fields: dict[str, Any], profile: ProfileName, defaults: Options) -> Options:
    given = converted({name: fields.get(name) for name in Options.__struct_fields__}, Options)
    options = with_defaults(given, defaults)
    resolve_options(options, profile=PROFILES[profile])  # refuses an error before anything is sent
    if options.echo and fields.get("return_raw_tokens"):
        raise InvalidRequest("echo and return_raw_tokens exclude each other", param="return_raw_tokens")
    return options


def _chat_message(message: _Message) -> ChatMessage:
    return ChatMessage(
        role=message.role,
        content=message.content,
        name=message.name,
        tool_calls=message.tool_calls,
        tool_call_id=message.tool_call_id,
        prefix=message.prefix or False,
        images=message.images,
        reasoning_content=message.reasoning_content or message.reasoning,
    )


def _request(
    endpoint: Endpoint, jobs: list[Submit], asked: _Common, job_id_of: JobIds, ignored: tuple[str, ...]
) -> BodyRequest:
    n = _num_choices(asked, len(jobs))
    options = with_seed(jobs[0].options, job_id_of(0))
    local_reason = None
    if options.allow_cloud is not False:
        local_reason = _local_reason(n, returns_tokens=asked.return_raw_tokens or False)
    if local_reason is not None:
        options = msgspec.structs.replace(options, allow_cloud=False)
    submits = [
        msgspec.structs.replace(job, job_id=job_id_of(place * n + choice), choice=choice, options=options)
        for place, job in enumerate(jobs)
        for choice in range(n)
    ]
    return BodyRequest(
        endpoint=endpoint,
        submits=submits,
        n=n,
        model=asked.model,
        stream=asked.stream or False,
        include_usage=(asked.stream_options or _StreamOptions()).include_usage or False,
        return_raw_tokens=asked.return_raw_tokens or False,
        ignored=ignored,
        local_reason=local_reason,
    )


def _local_reason(n: int, *, returns_tokens: bool) -> str | None:
    """The reason why a cloud could not answer; None if it could."""
    if n > 1:
        return "a cloud answers with one choice"
    return "a cloud answers in tokens of another model" if returns_tokens else None


def _num_choices(asked: _Common, num_prompts: int) -> int:
    n = 1 if asked.n is None else asked.n
    if not 1 <= n <= MAX_N:
        raise InvalidRequest(f"n must be between 1 and {MAX_N}, got {n!s:.40}", param="n")
    if asked.best_of is not None and asked.best_of != n:
        raise NotSupported("best_of must be n: every choice is returned", param="best_of")
    if num_prompts * n > MAX_CHOICES:
        raise InvalidRequest(
            f"{num_prompts} prompts with {n} choices each are above {MAX_CHOICES} choices", param="prompt"
        )
    return n
