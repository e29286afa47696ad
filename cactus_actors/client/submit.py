"""Builds and checks Submit messages from keyword arguments."""

from __future__ import annotations

import functools
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from cactus_actors.api.option_rules import with_seed
from cactus_actors.api.params import check_options
from cactus_actors.client.inline_pictures import without_data_urls
from cactus_actors.client.picture_files import with_given_pictures
from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.exact_integers import Seed
from cactus_actors.protocol.messages import ChatMessage, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.similar_name import similar_name
from cactus_actors.protocol.syntax_reason import syntax_reason
from cactus_actors.protocol.type_mismatch import mismatch_of
from cactus_actors.protocol.unsendable import UNSENDABLE, unsendable
from cactus_actors.protocol.wire import MAX_MESSAGE_BYTES, encode, is_job_id

Prompt = str | Sequence[int | str]
Messages = str | Sequence[Mapping[str, Any] | ChatMessage]
Tools = Sequence[Mapping[str, Any]]


# the types of Options' fields
_IN_WORDS: dict[Any, str] = {
    int | None: "an integer",
    Seed: "an integer, or its digits as a string",
    float | None: "a number",
    bool | None: "true or false",
    str | None: "a string",
    str | list[str] | None: "a string or a list of strings",
    bool | int | None: "true, false or an integer",
    dict[str, Any] | None: "an object",
    dict[str, Any] | bool | None: "an object, true or false",
    str | dict[str, Any] | None: "a string or an object",
    dict[str, float] | list[tuple[int | str, float | bool]] | None: "an object or a list of pairs",
}


@dataclass(frozen=True, slots=True)
class EncodedSubmit:
    """A checked Submit as its two frames, which take less memory than its objects, followed by its pictures."""

    job_id: str
    frames: tuple[bytes, ...]

    @property
    def num_bytes(self) -> int:
        return sum(map(len, self.frames))


def new_job_id() -> str:
    """A new, unique job id."""
    return secrets.token_hex(16)


def make_submit(
    prompt: Prompt | None = None,
    *,
    messages: Messages | None = None,
    tools: Tools | None = None,
    model: str | None = None,
    job_id: str | None = None,
    options: Mapping[str, Any],
    frames: list[bytes] | None = None,
) -> Submit:
    """Build a Submit; raises InvalidRequest with `param` set.

    A caller that chooses the `job_id` may send the job again: the service knows it for a day after its end. In the
    `images` of messages, bytes and path objects are pictures of this machine. Their contents are added to `frames`,
    for `encoded`; without it they are sent inside the request. Texts are for the service to read.
    """
    if (prompt is None) == (messages is None):
        raise InvalidRequest("give exactly one of prompt and messages", param="prompt")
    keyed = job_id is not None
    if job_id is None:
        job_id = new_job_id()
    check_job_id(job_id)
    if isinstance(messages, str):
        try:
            messages = msgspec.json.decode(messages)
        except msgspec.DecodeError as error:
            raise InvalidRequest(f"messages is not JSON: {syntax_reason(error)}", param="messages") from None
    return Submit(
        job_id=job_id,
        prompt=_convert(prompt, str | list[int | str] | None, "prompt"),
        messages=_convert(with_given_pictures(messages, frames), list[ChatMessage] | None, "messages"),
        tools=_convert(tools, list[dict[str, Any]] | None, "tools"),
        model=_convert(model, str | None, "model"),
        options=make_options(options),
        keyed=keyed,
    )


def make_options(given: Mapping[str, Any]) -> Options:
    """Build Options from keyword arguments; raises InvalidRequest for an unknown name or a wrong type."""
    types = _option_types()
    for name in given:
        if name not in types:
            raise InvalidRequest(f"unknown option {name!r}{similar_name(name, types)}", param=name)
    try:
        return msgspec.convert(dict(given), Options)
    except msgspec.ValidationError:
        for name, value in given.items():
            _check_type(name, value, types[name])
        raise


def _check_type(name: str, value: Any, kind: Any) -> None:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        raise InvalidRequest(f"{name} must be {_IN_WORDS[kind]}, got {value!r:.80}", param=name) from None


@functools.cache
def _option_types() -> dict[str, Any]:
    """The types of options by their names; msgspec evaluates the annotations again at each call."""
    return {field.name: field.type for field in msgspec.structs.fields(Options)}


def encoded(submit: Submit | EncodedSubmit, frames: Sequence[bytes] = ()) -> EncodedSubmit:
    """The frames of a Submit, which is checked and gets a seed, and those of its pictures.

    Its pictures are `frames`, and the contents of large data URLs. Raises InvalidRequest for options out of range and
    for data that cannot be encoded.
    """
    if isinstance(submit, EncodedSubmit):
        return submit
    options = submit.options
    check_options(options, submit.profile or "cactus")
    submit = msgspec.structs.replace(submit, options=with_seed(options, submit.job_id))
    pictures = [*frames]
    submit = without_data_urls(submit, pictures)
    asked = "messages" if submit.prompt is None else "prompt"
    try:
        header, payload = encode(submit)
    except UNSENDABLE as error:
        raise unsendable(submit, error) from None
    size = len(payload)
    if size > MAX_MESSAGE_BYTES:
        raise InvalidRequest(f"the request is {size} bytes, at most {MAX_MESSAGE_BYTES} can be sent", param=asked)
    return EncodedSubmit(submit.job_id, (header, payload, *pictures))


def check_job_id(job_id: str) -> None:
    """Raise InvalidRequest unless `job_id` is valid."""
    if not is_job_id(job_id):
        raise InvalidRequest("job_id must be 32 lowercase hexadecimal characters", param="job_id")


def _convert(value: Any, wanted: Any, param: str) -> Any:
    if value is None:
        return None
    try:
        return msgspec.convert(value, wanted, from_attributes=True)
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"{param}: {mismatch_of(error, wanted).message}", param=param) from None
