"""Batches as Anthropic's message batches: their object, and their results."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from cactus_actors.api.anthropic import anthropic_error_body
from cactus_actors.batch.custom_id_set import CustomIdSet, custom_id_hash
from cactus_actors.batch.prompt_file import PromptFile
from cactus_actors.batch.prompt_lines import decode_line
from cactus_actors.gateway.files.batch_record import EXPIRED, BatchRecord
from cactus_actors.gateway.files.file_store import FileStore
from cactus_actors.protocol.error_info import ErrorInfo


class _Response(msgspec.Struct, frozen=True):
    body: msgspec.Raw


class _Error(msgspec.Struct, frozen=True):
    code: str


class _Line(msgspec.Struct, frozen=True):
    custom_id: str
    response: _Response | None = None
    error: _Error | None = None


_decoder = msgspec.json.Decoder(_Line)


def message_batch_body(record: BatchRecord, results_url: str) -> dict[str, Any]:
    """The message batch; `results_url` is told once it has ended."""
    succeeded, errored, expired = record.num_completed, record.num_failed - record.num_expired, record.num_expired
    left = record.num_lines - succeeded - errored - expired
    if record.status == "failed":
        succeeded, errored, left = 0, record.num_lines, 0
    status = "in_progress"
    if record.has_ended:
        status = "ended"
    elif record.status == "cancelling":
        status = "canceling"
    return {
        "id": record.batch_id,
        "type": "message_batch",
        "processing_status": status,
        "request_counts": {
            "processing": 0 if record.has_ended else left,
            "succeeded": succeeded,
            "errored": errored,
            "canceled": left if record.has_ended else 0,
            "expired": expired,
        },
        "created_at": _moment(record.created_at),
        "expires_at": _moment(record.expires_at),
        "ended_at": _moment(record.times.get(record.status) if record.has_ended else None),
        "cancel_initiated_at": _moment(record.times.get("cancelling")),
        "archived_at": None,
        "results_url": results_url if record.has_ended else None,
    }


def message_batch_results(record: BatchRecord, files: FileStore) -> Iterator[bytes]:
    """The result of every request of a batch that has ended, one line each; those that did not run come last."""
    told = CustomIdSet()
    for file_id in (record.output_file_id, record.error_file_id):
        if file_id is not None:
            with files.path(file_id).open("rb") as lines:
                for content in lines:
                    line = _decoder.decode(content)
                    told.add(custom_id_hash(line.custom_id))
                    yield _result_line(line.custom_id, _result(line))
    without = _result_without_answer(record)
    with PromptFile(files.path(record.input_file_id)) as asked:
        for raw in asked.lines():
            custom_id = decode_line(raw, "jsonl").custom_id
            if told.add(custom_id_hash(custom_id)):
                yield _result_line(custom_id, without)


def _result(line: _Line) -> dict[str, Any]:
    if line.error is not None and line.error.code == EXPIRED:
        return {"type": "expired"}
    assert line.response is not None  # of every line but the expired ones
    body = line.response.body
    return {"type": "succeeded", "message": body} if line.error is None else {"type": "errored", "error": body}


def _result_without_answer(record: BatchRecord) -> dict[str, Any]:
    """The result of a request that never ran: its batch was cancelled, or failed as a whole."""
    if record.status != "failed":
        return {"type": "canceled"}
    message = record.faults[0].message if record.faults else "an internal error occurred"
    info = ErrorInfo(type="server_error", message=message, status=500)
    return {"type": "errored", "error": anthropic_error_body(info, record.batch_id)}


def _result_line(custom_id: str, result: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"custom_id": custom_id, "result": result}) + b"\n"


def _moment(unix_s: float | None) -> str | None:
    """RFC 3339, in UTC."""
    return None if unix_s is None else datetime.fromtimestamp(int(unix_s), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
