"""The outcomes of a second pass on disk, and their merging into the output."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import msgspec

from cactus_actors.api.openai import BodyRequest, completion_body
from cactus_actors.batch.batch_errors import naming_file
from cactus_actors.batch.batch_request import Misfit
from cactus_actors.batch.paths import BatchPaths, sync_directory
from cactus_actors.batch.result_file import result_lines
from cactus_actors.batch.result_lines import MISFIT
from cactus_actors.batch.second_pass.model_answers import answered_by_model, read_usage
from cactus_actors.protocol.cloud_batches import BatchAnswer
from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.results import Handoff, HandoffStatus, Measures, Result, Timings, Usage


class PassOutcome(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the second pass brought for a line: an answer if `completed`, else the reason why it has none.

    The answer is the cloud's, or the `body` that a model of the service answered with.
    """

    custom_id: str
    status: HandoffStatus
    reason: str
    answer: BatchAnswer | None = None
    body: dict[str, Any] | None = None
    batch_id: str = ""
    provider: str = ""
    model: str = ""
    currency: str = ""
    latency_ms: float | None = None


@dataclass
class SecondPassReport:
    """Counts of lines, and the cost in `currency`, if prices are configured.

    Of the answers of a model, `num_unsure` failed a gate as well.
    """

    num_completed: int = 0
    num_unsure: int = 0
    num_failed: int = 0
    num_suppressed: int = 0
    cost: float | None = None
    currency: str = ""

    def add(self, outcome: PassOutcome) -> None:
        self.num_completed += outcome.status == "completed"
        self.num_unsure += outcome.body is not None and outcome.body["handoff"]["status"] != "none"
        self.num_failed += outcome.status == "failed"
        self.num_suppressed += outcome.status == "suppressed"
        if outcome.answer is not None and outcome.answer.cost is not None:
            self.cost = (self.cost or 0.0) + outcome.answer.cost
            self.currency = outcome.currency


def merge(paths: BatchPaths, misfit: Misfit | None = None) -> SecondPassReport:
    """Put the outcomes into their lines of the output, whose order stays; can be repeated after a kill.

    A line keeps its first answer if `misfit` has a reason against the second one.
    Raises OutputFailed.
    """
    report = SecondPassReport()
    with naming_file(paths.output):
        with paths.pass_answers.open("rb") as outcomes:
            offsets = {line.key: line.offset for line in result_lines(outcomes)}
            if offsets:
                _write_merged(paths, outcomes.fileno(), offsets, report, misfit)
        for path in paths.of_second_pass:
            path.unlink(missing_ok=True)
        sync_directory(paths.output.parent)
    return report


def _write_merged(
    paths: BatchPaths, outcomes: int, offsets: dict[int, int], report: SecondPassReport, misfit: Misfit | None
) -> None:
    with paths.output.open("rb") as results, paths.merged_output.open("wb") as merged:
        with os.fdopen(os.dup(outcomes), "rb") as file:
            for line in result_lines(results):
                offset = offsets.get(line.key)
                if offset is None:
                    merged.write(line.content)
                    continue
                file.seek(offset)
                outcome = msgspec.json.decode(file.readline(), type=PassOutcome)
                if misfit is not None and outcome.status == "completed" and (why := misfit(*_text_and_end(outcome))):
                    # it keeps its first answer; what the cloud's costs stays
                    outcome = msgspec.structs.replace(outcome, status="failed", reason=f"{MISFIT}: {why}", body=None)
                report.add(outcome)
                merged.write(with_outcome(line.content, outcome))
        merged.flush()
        os.fsync(merged.fileno())
    paths.merged_output.replace(paths.output)
    sync_directory(paths.output.parent)


def _text_and_end(outcome: PassOutcome) -> tuple[str, str | None]:
    """The text of an answer, and why it ended."""
    if outcome.answer is not None:
        return outcome.answer.text, outcome.answer.finish_reason
    choice = (outcome.body or {})["choices"][0]
    return (choice["message"]["content"] if "message" in choice else choice["text"]) or "", choice["finish_reason"]


def with_outcome(content: bytes, outcome: PassOutcome) -> bytes:
    """The line of the output with the outcome of the second pass; a line that has its answer stays."""
    line: dict[str, Any] = msgspec.json.decode(content)
    response = line["response"]
    body = response["body"]
    if body["cloud_handoff"]:
        return content
    if outcome.body is not None:
        response["body"] = answered_by_model(body, outcome.body)
        return msgspec.json.encode(line) + b"\n"
    handoff = msgspec.structs.replace(
        msgspec.convert(body["handoff"], Handoff), status=outcome.status, reason=outcome.reason
    )
    answer = outcome.answer
    if outcome.batch_id:
        handoff = msgspec.structs.replace(
            handoff, batch_id=outcome.batch_id, provider=outcome.provider, latency_ms=outcome.latency_ms
        )
    if answer is not None and answer.cost is not None:
        handoff = msgspec.structs.replace(handoff, cost=answer.cost, currency=outcome.currency)
    if outcome.status == "completed" and answer is not None:
        response["body"] = _answered(body, handoff, answer, outcome, response["request_id"])
    else:
        if answer is not None and answer.usage is not None:
            handoff = msgspec.structs.replace(handoff, cloud_usage=answer.usage)
        body["handoff"] = msgspec.to_builtins(handoff)
    return msgspec.json.encode(line) + b"\n"


def _answered(
    body: dict[str, Any], handoff: Handoff, answer: BatchAnswer, outcome: PassOutcome, job_id: str
) -> dict[str, Any]:
    """The body with the cloud's answer, as if the job had been handed off when it ran."""
    local_usage = read_usage(body["usage"])
    handoff = msgspec.structs.replace(
        handoff,
        model=outcome.model,
        usage_is_estimated=answer.usage is None,
        local_model=body["model"],
        local_usage=local_usage,
        local_confidence=body["confidence"],
        local_measures=None if body["measures"] is None else msgspec.convert(body["measures"], Measures),
    )
    result = Result(
        text=answer.text,
        reasoning_content=answer.reasoning or None,
        finish_reason=answer.finish_reason,
        tool_calls=answer.tool_calls,
        cloud_handoff=True,
        handoff=handoff,
        usage=answer.usage or Usage(prompt_tokens=local_usage.prompt_tokens),
        timings=Timings(total_time_ms=outcome.latency_ms or 0.0),
        model=outcome.model,
        seed=body["seed"],
    )
    is_chat = body["object"] == "chat.completion"
    request = BodyRequest(endpoint="chat" if is_chat else "completion", submits=[Submit(job_id=job_id)])
    return body | completion_body(request, [result], completion_id=body["id"], created=body["created"])
