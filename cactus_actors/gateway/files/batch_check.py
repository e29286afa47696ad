"""Checks the input file of a batch before any line runs."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from cactus_actors.batch.batch_errors import InputInvalid
from cactus_actors.batch.prompt_file import PromptFile
from cactus_actors.batch.prompt_lines import PromptLine, decode_line
from cactus_actors.gateway.files.batch_record import BatchFault, Endpoint

MAX_LINES = 50_000
MAX_FAULTS = 100


class CheckedInput(NamedTuple):
    """Number of lines of a file, and at most MAX_FAULTS `faults` that make it unfit for a batch."""

    num_lines: int
    faults: list[BatchFault]


def checked(path: Path, endpoint: Endpoint, *, takes_salts: bool) -> CheckedInput:
    """Check a whole input file of a batch for `endpoint`.

    An invalid body fails its own line later. Without `takes_salts` no line may have a `cache_salt`.
    """
    faults: list[BatchFault] = []
    line_of_id: dict[str, int] = {}
    num_lines = 0
    try:
        with PromptFile(path) as file:
            for raw in file.lines():
                num_lines += 1
                if num_lines > MAX_LINES:
                    faults.append(BatchFault(code="too_many_requests", message=f"more than {MAX_LINES} lines"))
                    return CheckedInput(num_lines, faults)
                line = decode_line(raw, "jsonl")
                faults += _faults_of_line(line, endpoint, takes_salts)
                earlier = line_of_id.setdefault(line.custom_id, line.number)
                if earlier != line.number:
                    message = f"custom_id {line.custom_id[:60]!r} is on line {earlier} too"
                    faults.append(_fault("duplicate_custom_id", message, line, "custom_id"))
                if len(faults) >= MAX_FAULTS:
                    return CheckedInput(num_lines, faults[:MAX_FAULTS])
    except InputInvalid as error:
        faults.append(BatchFault(code="invalid_file", message=error.message.removeprefix(f"{path}: ")))
        return CheckedInput(num_lines, faults)
    if not num_lines:
        faults.append(BatchFault(code="empty_file", message="the file holds no request"))
    return CheckedInput(num_lines, faults)


def _faults_of_line(line: PromptLine, endpoint: Endpoint, takes_salts: bool) -> list[BatchFault]:
    if line.error is not None:
        return [_fault("invalid_json_line", line.error.message, line, None)]
    value = line.value
    if not isinstance(value, dict) or not isinstance(value.get("body"), dict):
        return [_fault("invalid_request", "a line is an object with custom_id, method, url and body", line, "body")]
    if not isinstance(value.get("custom_id"), str):
        return [_fault("missing_required_parameter", "custom_id is required", line, "custom_id")]
    if value.get("method") != "POST":
        return [_fault("invalid_method", "method must be POST", line, "method")]
    if value.get("url") != endpoint:
        return [_fault("invalid_url", f"url must be {endpoint}, as the batch's endpoint", line, "url")]
    if not takes_salts and value["body"].get("cache_salt") is not None:
        return [_fault("invalid_request", "cache_salt is not allowed in a batch", line, "cache_salt")]
    return []


def _fault(code: str, message: str, line: PromptLine, param: str | None) -> BatchFault:
    return BatchFault(code=code, message=message, param=param, line=line.number)
