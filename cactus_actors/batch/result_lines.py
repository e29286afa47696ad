"""Renders finished lines as batch lines, for output and error file."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from cactus_actors.api.openai import BodyRequest
from cactus_actors.batch.line_bodies import answer_body, failure_body
from cactus_actors.batch.prompt_lines import PromptLine
from cactus_actors.protocol.errors import CactusError
from cactus_actors.protocol.results import Result

MISFIT = "answer_misfit"
"""The code of an answer that is none that is wanted."""


def render_result(
    line: PromptLine,
    request: BodyRequest,
    results: Sequence[Result],
    created: int,
    system_fingerprint: str | None = None,
) -> bytes:
    """Render an output line."""
    job_id = request.submits[0].job_id
    body = answer_body(line.url, request, results, created=created, system_fingerprint=system_fingerprint)
    return _render(line, job_id, {"status_code": 200, "request_id": job_id, "body": body}, None)


def render_misfit(
    line: PromptLine, request: BodyRequest, results: Sequence[Result], created: int, reason: str
) -> bytes:
    """Render a line of the error file whose body is the answer, of which `reason` says why it is none."""
    job_id = request.submits[0].job_id
    body = answer_body(line.url, request, results, created=created, system_fingerprint=None)
    error = {"code": MISFIT, "message": reason, "param": "json_schema", "line": line.number}
    return _render(line, job_id, {"status_code": 200, "request_id": job_id, "body": body}, error, {"input": line.value})


def render_error(line: PromptLine, job_id: str, error: CactusError) -> bytes:
    """Render a line of the error file, with the failed `input` and its line number as `error.line`."""
    info = error.info()
    response = {
        "status_code": info.status or 500,
        "request_id": job_id,
        "body": failure_body(line.url, info, job_id),
    }
    return _render(
        line,
        job_id,
        response,
        {"code": info.type, "message": info.message, "param": info.param, "line": line.number},
        {"input": line.value},
    )


def _render(
    line: PromptLine, job_id: str, response: object, error: object, more: dict[str, object] | None = None
) -> bytes:
    return msgspec.json.encode(
        {
            "id": f"batch_req_{job_id[:24]}",
            "custom_id": line.custom_id,
            "response": response,
            "error": error,
            **(more or {}),
        }
    )
