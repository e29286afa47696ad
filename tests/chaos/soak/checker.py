"""Checks a history against the guarantees of the service. Pure functions over events.

Events of jobs: `invoke` (job, key of the request), `cancel` (job), `delta` (job, reader, index, tokens,
text), `ok` (job, reader, tokens, text, finish), `fail` (job, reader, error type). Events of faults: `fault`
(name). At the end `status`: the counts of jobs, and the resources that the router and each worker still hold.

Events of prompt files: `file` (number, keys of its lines), `line` (file, key, text or error type). Events of
readers over HTTP: `sse begun` (stream, key), `sse` (stream, key, text or error type). Events of memory:
`memory`, which `growth.py` checks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.chaos.soak.growth import growths
from tests.chaos.soak.history import Event

EXPECTED_FAILURES = {"rate_limit_error", "unavailable_error", "storage_error"}
"""Refusals that a client may get while a router starts."""

UNANSWERED = "unavailable_error"
"""No reply in time, while a router was killed or stopped; it says nothing about the job's end."""

UNANSWERED_S = 55.0
"""The longest time that a fault or a restart may delay all replies."""

WORKER_KILLS_FOR_POISON = 3
WORKER_FAULTS = {"kill worker", "stop worker", "hold workers"}
"""Faults that may cost a job its worker; a reset connection does not."""

WORKER_FAULT_S = 10.0
"""The longest time after the beginning of such a fault that a job may still be given to a worker, or lose one."""

MAY_STAY = {"ended_jobs", "result_bytes", "picture_bytes"}
"""The part of the router's state that ended jobs may keep, for later requests."""


@dataclass
class JobHistory:
    """All events of one job."""

    job: str
    key: str = ""
    invoked_at: float = 0.0
    ended_at: float = 0.0
    deltas: dict[str, list[Event]] = field(default_factory=lambda: defaultdict(list))
    ends: list[Event] = field(default_factory=list)


def violations(events: Iterable[Event]) -> list[str]:
    """Return the violated guarantees, in words; empty if there are none."""
    jobs: dict[str, JobHistory] = {}
    kills: list[float] = []
    status: Event | None = None
    rest: list[Event] = []
    for event in events:
        match event["kind"]:
            case "fault":
                if event["name"] in WORKER_FAULTS:
                    kills.append(event["at"])
            case "status":
                status = event
            case "invoke":
                jobs[event["job"]] = JobHistory(event["job"], event["key"], event["at"])
            case "delta":
                jobs[event["job"]].deltas[event["reader"]].append(event)
            case "ok" | "fail":
                jobs[event["job"]].ends.append(event)
                jobs[event["job"]].ended_at = event["at"]
            case "file" | "line" | "sse begun" | "sse" | "memory":
                rest.append(event)
    found = [text for job in jobs.values() for text in [*_ends(job, kills), *_streams(job)]]
    found += _same_tokens(jobs.values())
    found += _unreleased(status)
    found += _files(rest, kills)
    found += _readers(rest, kills)
    num_jobs = len(jobs) + sum(event["kind"] in ("line", "sse begun") for event in rest)
    found += growths(rest, num_jobs)
    return found


def _ends(job: JobHistory, kills: list[float]) -> Iterable[str]:
    """Check that a job ends, once, with the same result for all readers, and fails only for a reason."""
    if not job.ends:
        yield f"job {job.job} never ended"
        return
    seen = {
        (end["kind"], end.get("finish"), tuple(end.get("tokens", ())), end.get("error"))
        for end in job.ends
        if end.get("error") != UNANSWERED
    }
    if len(seen) > 1:
        yield f"job {job.job} ended in {len(seen)} ways: {sorted(map(str, seen))[:2]}"
    for end in job.ends:
        if end.get("error") == UNANSWERED and end["at"] - job.invoked_at > UNANSWERED_S:
            yield f"job {job.job} was not answered for {end['at'] - job.invoked_at:.0f} s: {end['message']}"
        if end["kind"] != "fail" or end["error"] in EXPECTED_FAILURES:
            continue
        if end["error"] == "poison_job" and _may_be_poisoned(kills, job.invoked_at, job.ended_at):
            continue
        yield f"job {job.job} failed with {end['error']}: {end.get('message')}"


def _may_be_poisoned(kills: list[float], begun_at: float, ended_at: float) -> bool:
    """True if faults may have cost the job so many workers that it ends as a poison job."""
    return sum(begun_at - WORKER_FAULT_S <= at <= ended_at for at in kills) >= WORKER_KILLS_FOR_POISON


def _streams(job: JobHistory) -> Iterable[str]:
    """Check that each reader's stream has no gap and no repeat, and is a prefix of the result."""
    for reader, deltas in job.deltas.items():
        tokens: list[int] = []
        text = ""
        for delta in deltas:
            if delta["index"] != len(tokens):
                yield f"job {job.job}: {reader} was shown item {delta['index']} after {len(tokens)} items"
                break
            tokens += delta["tokens"]
            text += delta["text"]
        for end in job.ends:
            if end["kind"] != "ok":
                continue
            if end["tokens"][: len(tokens)] != tokens or not end["text"].startswith(text):
                yield f"job {job.job}: {reader} was shown what the result does not begin with"
            if end["reader"] == reader and (end["tokens"] != tokens or end["text"] != text):
                yield f"job {job.job}: the stream of {reader} is not the whole result"


def _same_tokens(jobs: Iterable[JobHistory]) -> Iterable[str]:
    """Check that the same request has the same answer under any fault; a cancelled answer is a prefix of it."""
    answers: dict[str, tuple[str, list[int]]] = {}
    whole = [job for job in jobs for end in job.ends if end["kind"] == "ok" and end["finish"] != "cancelled"]
    for job in whole:
        tokens = next(end["tokens"] for end in job.ends if end["kind"] == "ok")
        first, expected = answers.setdefault(job.key, (job.job, tokens))
        if tokens != expected:
            yield f"jobs {first} and {job.job} of request {job.key} have different tokens"


def _files(events: list[Event], kills: list[float]) -> Iterable[str]:
    """Check that every line of a prompt file has one answer, and that equal lines have equal answers in every file."""
    lines = [event for event in events if event["kind"] == "line"]
    files = [event for event in events if event["kind"] == "file"]
    for file in files:
        answered = sorted(line["key"] for line in lines if line["file"] == file["file"])
        if answered != sorted(file["keys"]):
            yield f"file {file['file']} has answers {answered} to its lines {sorted(file['keys'])}"
    begun_at = {file["file"]: file["at"] for file in files}
    yield from _same_texts("line", [{**line, "begun_at": begun_at[line["file"]]} for line in lines], kills)


def _readers(events: list[Event], kills: list[float]) -> Iterable[str]:
    """Check that every HTTP stream ended, and that the same request has the same text after any number of breaks."""
    begun = {event["stream"]: event for event in events if event["kind"] == "sse begun"}
    ended = {event["stream"]: event for event in events if event["kind"] == "sse"}
    for stream in begun.keys() - ended.keys():
        yield f"stream {stream} of {begun[stream]['reader']} never ended"
    seen = [{**event, "begun_at": begun[stream]["at"]} for stream, event in ended.items()]
    yield from _same_texts("stream", seen, kills)


def _same_texts(what: str, events: list[Event], kills: list[float]) -> Iterable[str]:
    texts: dict[str, str] = {}
    for event in events:
        if "error" in event:
            is_poison = event["error"] == "poison_job" and _may_be_poisoned(kills, event["begun_at"], event["at"])
            if event["error"] not in EXPECTED_FAILURES and not is_poison:
                yield f"a {what} of request {event['key']} failed with {event['error']}"
        elif event["text"] != texts.setdefault(event["key"], event["text"]):
            yield f"a {what} of request {event['key']} has another text than before"


def _unreleased(status: Event | None) -> Iterable[str]:
    """Check that nothing is held at the end, and that the counts add up."""
    if status is None:
        yield "there is no status from the end"
        return
    jobs = status["jobs"]
    if jobs["queued"] or jobs["running"]:
        yield f"jobs are left at the end: {jobs}"
    if jobs["accepted"] != jobs["finished"] + jobs["failed"] + jobs["cancelled"]:
        yield f"the counts do not add up: {jobs}"
    if held := {name: count for name, count in status["held"].items() if count and name not in MAY_STAY}:
        yield f"the router holds at the end: {held}"
    local = [worker for worker in status["workers"] if worker["kind"] == "local"]
    if len(local) < status["desired_workers"]:
        yield f"{len(local)} of {status['desired_workers']} wished workers are there at the end"
    for worker in local:
        if worker["num_running"] or worker["free_slots"] != worker["num_slots"]:
            yield f"{worker['worker_id']} still runs something: {worker}"
        if worker["free_blocks"] != worker["num_blocks"]:
            yield f"{worker['worker_id']} leaks cache blocks: {worker}"
