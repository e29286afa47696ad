"""The lines of a run that were left to the second pass: their jobs, and their results in the output."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import NamedTuple

import msgspec

from cactus_actors.batch.batch_errors import naming_file
from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.results import NOT_ALLOWED, HandoffStatus, Result

LEFT = "left to the second pass"
_UNDONE = frozenset({"recommended", "failed", "suppressed"})


class LeftLine(NamedTuple):
    """A line whose answer failed a gate: its job in the first pass, its number of tokens there, and its `model`."""

    job_id: str
    is_chat: bool
    completion_tokens: int
    model: str


class _Handoff(msgspec.Struct, frozen=True):
    status: HandoffStatus = "none"
    confidence: float | None = None


class _Usage(msgspec.Struct, frozen=True):
    completion_tokens: int = 0


class _Body(msgspec.Struct, frozen=True):
    object: str = ""
    model: str = ""
    handoff: _Handoff = _Handoff()
    usage: _Usage = _Usage()


class _Response(msgspec.Struct, frozen=True):
    request_id: str
    body: _Body


class _Line(msgspec.Struct, frozen=True):
    custom_id: str
    response: _Response


def may_be_left(options: Options) -> bool:
    """True for a job that might be handed off."""
    return options.allow_cloud is not False and bool(options.cloud_handoff_threshold or options.max_entropy)


def without_cloud(submit: Submit) -> Submit:
    """The job with a local answer; its gates are applied, and the result has their decision."""
    return msgspec.structs.replace(submit, options=msgspec.structs.replace(submit.options, allow_cloud=False))


def left_to_second_pass(result: Result) -> Result:
    """The result of a job `without_cloud`, with that as its reason if a gate failed."""
    if result.handoff.reason != NOT_ALLOWED:
        return result
    handoff = msgspec.structs.replace(result.handoff, status="recommended", reason=LEFT)
    return msgspec.structs.replace(result, handoff=handoff)


def left_lines(output: Path) -> dict[str, LeftLine]:
    """The lines of a finished output that failed a gate and were not answered by the cloud, by custom_id.

    Lines with several choices and messages are not among them. Raises OutputFailed.
    """
    lines: dict[str, LeftLine] = {}
    decoder = msgspec.json.Decoder(_Line)
    with naming_file(output), output.open("rb") as file:
        for content in file:
            with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
                line = decoder.decode(content)
                body = line.response.body
                if body.object and body.handoff.status in _UNDONE and body.handoff.confidence is not None:
                    is_chat = body.object == "chat.completion"
                    lines[line.custom_id] = LeftLine(
                        line.response.request_id, is_chat, body.usage.completion_tokens, body.model
                    )
    return lines
