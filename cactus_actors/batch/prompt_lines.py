"""Decodes the lines of a prompt file into jobs or errors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from cactus_actors.api.anthropic import MESSAGES
from cactus_actors.api.openai import BodyRequest, JobIds
from cactus_actors.api.option_rules import with_defaults, with_seed
from cactus_actors.api.strict_json import decode_strictly
from cactus_actors.batch.batch_errors import InputInvalid
from cactus_actors.batch.line_bodies import request_of, with_system
from cactus_actors.batch.prompt_file import MAX_LINE_BYTES, Format, RawLine
from cactus_actors.client.picture_files import with_read_pictures
from cactus_actors.client.submit import make_submit
from cactus_actors.protocol.errors import InvalidJSON, InvalidRequest
from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.similar_name import similar_name

MAX_CUSTOM_ID_LENGTH = 512
_BATCH_FIELDS = frozenset({"custom_id", "method", "url", "body"})
_NATIVE_FIELDS = frozenset({"prompt", "messages", "tools", "model", "custom_id"})
_KNOWN_FIELDS = dict.fromkeys((*sorted(_NATIVE_FIELDS), *Options.__struct_fields__))


@dataclass(frozen=True, slots=True)
class PromptLine:
    """A decoded line: `value` is its JSON value, or its text with an `error` if it is invalid."""

    number: int
    custom_id: str
    value: Any = None
    error: InvalidRequest | None = None

    @property
    def is_plain(self) -> bool:
        """True for plain text: a JSON string or a line of a text file."""
        return isinstance(self.value, str)

    @property
    def is_batch_line(self) -> bool:
        """True for a batch line: a custom_id, a method, a url and a body."""
        return isinstance(self.value, dict) and not _BATCH_FIELDS.isdisjoint(self.value.keys() - {"custom_id"})

    @property
    def url(self) -> str | None:
        """The path that a batch line names."""
        url = self.value.get("url") if self.is_batch_line else None
        return url if isinstance(url, str) else None

    @property
    def has_second_pass(self) -> bool:
        """False for a message of Anthropic's API: the second pass rewrites completions alone."""
        return self.url != MESSAGES

    @property
    def model(self) -> str | None:
        fields = self.value.get("body") if self.is_batch_line else self.value
        model = fields.get("model") if isinstance(fields, dict) else None
        return model if isinstance(model, str) else None


def decode_line(raw: RawLine, form: Format) -> PromptLine:
    """Decode one line; raises InputInvalid only for a custom_id that cannot identify the line in the output."""
    automatic_id = f"line-{raw.number}"
    try:
        if raw.error is not None:
            raise raw.error
        value = _decode(raw, form)
    except InvalidRequest as error:
        text = None if raw.content is None else raw.content.decode(errors="replace")
        return PromptLine(raw.number, automatic_id, text, error)
    line = PromptLine(raw.number, automatic_id, value)
    if not isinstance(value, dict) or ("custom_id" not in value and not line.is_batch_line):
        return line
    return PromptLine(raw.number, _checked_custom_id(value.get("custom_id"), raw.number), value)


def request_of_line(
    line: PromptLine,
    job_id_of: JobIds,
    defaults: Options,
    only_model: str | None,
    *,
    as_chat: bool = False,
    system: str | None = None,
    model: str | None = None,
    pictures: Path | None = None,
) -> BodyRequest:
    """The jobs of a line, one per choice; raises InvalidRequest.

    `defaults` fill in missing options. A plain line is a user message with `as_chat`, otherwise a prompt. `system`
    precedes conversations without a system message; `model` is asked a line that names none. Paths of pictures are of
    files on this machine, relative ones below the directory `pictures`; without it they are left to the service.
    """
    if line.error is not None:
        raise line.error
    if only_model is not None and line.model not in (None, only_model):
        raise InvalidRequest(
            f"a prompt file is for one model: the first line that names one says {only_model!r}",
            param="model",
        )
    frames: list[bytes] = []
    if pictures is not None:
        line = _with_pictures(line, pictures, frames)
    if line.is_batch_line:
        request = _request_of_batch_line(line.value, job_id_of, defaults, system)
    else:
        submit = _submit_of_native_line(line.value, job_id_of(0), as_chat=as_chat, system=system)
        options = with_defaults(submit.options, defaults)
        request = BodyRequest.of(msgspec.structs.replace(submit, options=options))
    if request.model is None and model is not None:
        asked = [msgspec.structs.replace(submit, model=model) for submit in request.submits]
        request = msgspec.structs.replace(request, submits=asked, model=model)
    seeded = [
        msgspec.structs.replace(submit, options=with_seed(submit.options, submit.job_id)) for submit in request.submits
    ]
    return msgspec.structs.replace(request, submits=seeded, frames=frames)


def _with_pictures(line: PromptLine, directory: Path, frames: list[bytes]) -> PromptLine:
    """The line with frames in place of files of this machine, which are read; errors name the line and the picture."""
    fields = line.value.get("body") if line.is_batch_line else line.value
    if not isinstance(fields, dict) or "messages" not in fields:
        return line
    try:
        fields = {**fields, "messages": with_read_pictures(fields["messages"], directory, frames)}
    except InvalidRequest as error:
        raise type(error)(f"line {line.number}: {error.message}", param=error.param) from None
    return replace(line, value={**line.value, "body": fields} if line.is_batch_line else fields)


def _submit_of_native_line(value: Any, job_id: str, *, as_chat: bool, system: str | None) -> Submit:
    match value:
        case str() if as_chat:
            messages = with_system([{"role": "user", "content": value}], system)
            return make_submit(messages=messages, job_id=job_id, options={})
        case str():
            return make_submit(value, job_id=job_id, options={})
        case dict() as fields:
            _check_known(fields)
            return make_submit(
                fields.get("prompt"),
                messages=with_system(fields.get("messages"), system),
                tools=fields.get("tools"),
                model=fields.get("model"),
                job_id=job_id,
                options={name: value for name, value in fields.items() if name not in _NATIVE_FIELDS},
            )
    raise InvalidRequest("a line is a JSON string or a JSON object", param="line")


def _check_known(fields: dict[str, Any]) -> None:
    """Raise InvalidRequest for the first unknown field, before missing fields are reported."""
    for name in fields:
        if name not in _KNOWN_FIELDS:
            raise InvalidRequest(f"unknown field {name!r:.80}{similar_name(name, _KNOWN_FIELDS)}", param=name)


def _request_of_batch_line(
    fields: dict[str, Any], job_id_of: JobIds, defaults: Options, system: str | None
) -> BodyRequest:
    if unknown := sorted(fields.keys() - _BATCH_FIELDS):
        raise InvalidRequest(
            f"unknown field {unknown[0]!r:.80} in addition to custom_id, method, url and body"
            f"{similar_name(unknown[0], _BATCH_FIELDS)}",
            param="line",
        )
    if fields.get("method") != "POST":
        raise InvalidRequest("method must be POST", param="method")
    url = fields.get("url")
    if not isinstance(url, str):
        raise InvalidRequest("url is required", param="url")
    return request_of(url, fields.get("body"), job_id_of, defaults, system)


def _decode(raw: RawLine, form: Format) -> Any:
    if raw.content is None:
        raise InvalidRequest(f"the line is longer than {MAX_LINE_BYTES} bytes", param="line")
    try:
        text = raw.content.decode()
    except UnicodeDecodeError as error:
        raise InvalidRequest(
            f"encoding: not UTF-8 at byte {raw.offset + error.start} of the file", param="line"
        ) from None
    if form == "text":
        return text
    try:
        return decode_strictly(raw.content, "the line")
    except InvalidJSON as error:
        raise InvalidRequest(str(error), param="line") from None


def _checked_custom_id(custom_id: object, number: int) -> str:
    if not isinstance(custom_id, str) or not custom_id:
        raise InputInvalid(f"line {number}: custom_id is required and must be a string")
    if len(custom_id) > MAX_CUSTOM_ID_LENGTH or not custom_id.isprintable():
        raise InputInvalid(f"line {number}: custom_id must be at most {MAX_CUSTOM_ID_LENGTH} printable characters")
    return custom_id
