"""Audits of a real service, whose cloud is a server of the test."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from cactus_actors.cli.main import app
from cactus_actors.config import HandoffSettings
from cactus_actors.protocol.totals import AuditTotals
from tests.support.http.serving import Request, http_serving
from tests.support.services.running_service import Running, wait_until

QUESTION = [{"role": "user", "content": "What is the capital of France?"}]
LOW = 0.01  # below every confidence
GREEDY: dict[str, Any] = {"messages": QUESTION, "temperature": 0, "max_tokens": 32}


@dataclass
class Cloud:
    """Gives the answers in turn, the last one for ever, each once it `may_answer`."""

    answers: list[str]
    url: str = ""
    may_answer: threading.Event = field(default_factory=threading.Event)
    bodies: list[dict[str, Any]] = field(default_factory=list)

    def answer(self, request: Request) -> None:
        self.bodies.append(json.loads(request.rfile.read(int(request.headers["content-length"]))))
        text = self.answers[min(len(self.bodies), len(self.answers)) - 1]
        assert self.may_answer.wait(60.0)
        request.send_response(200)
        request.send_header("content-type", "text/event-stream")
        request.end_headers()
        chunk = {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]}
        request.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\ndata: [DONE]\n\n")


@contextmanager
def cloud_saying(*answers: str) -> Iterator[Cloud]:
    cloud = Cloud(list(answers))
    with http_serving(cloud.answer) as url:
        cloud.url = f"{url}/v1"
        yield cloud


def audits_of(service: Running, number: int) -> AuditTotals:
    """The totals once so many audits have ended."""

    def found(status: Any) -> AuditTotals | None:
        told = next((worker.audits for worker in status.workers if worker.audits is not None), None)
        return told if told is not None and sum(told.outcomes.values()) + told.unjudged >= number else None

    told = found(wait_until(service.client, lambda status: found(status) is not None, 60.0))
    assert told is not None
    return told


def cactus(state_dir: Path, *words: str, input: str = "") -> str:
    done = CliRunner().invoke(app, ["audit", *words, "--state-dir", str(state_dir)], input=input)
    assert done.exit_code == 0, done.output
    return done.output


def test_audits_leave_the_client_s_answer_alone_until_people_find_too_many_wrong_ones(
    serve_locally: Any, tmp_path: Path
) -> None:
    with cloud_saying("the wrong city") as cloud:
        settings = HandoffSettings(base_url=cloud.url, require_key=False, audit_share=1.0, on_drift="tighten")
        with serve_locally(workers=1, handoff=settings) as service:
            wait_until(service.client, lambda status: len(status.workers) == 2)
            plain = service.client.complete(**GREEDY)  # without a threshold: not audited
            kept = service.client.complete(**GREEDY, cloud_handoff_threshold=LOW)  # while the cloud is silent
            assert (kept.text, kept.token_ids, kept.handoff.status) == (plain.text, plain.token_ids, "none")
            private = service.client.complete(**GREEDY, cloud_handoff_threshold=LOW, allow_cloud=False)
            assert private.text == plain.text
            cloud.answers.append(f" {plain.text.upper()}\n")
            cloud.may_answer.set()
            audits_of(service, 1)
            service.client.complete(**GREEDY, cloud_handoff_threshold=LOW)
            told = audits_of(service, 2)
            assert (told.outcomes["right"], told.unjudged, told.monitored) == (1, 1, 1)
            assert [body["messages"] for body in cloud.bodies] == [QUESTION] * 2

            [answer] = json.loads(cactus(tmp_path, "--json"))["answers"]
            assert (answer["answer"], answer["cloud_answer"]) == (plain.text, "the wrong city")
            cactus(tmp_path, "--label", str(answer["id"]), "right")
            wait_until(service.client, lambda _: audits_of(service, 2).unjudged == 0)
            told = audits_of(service, 2)
            assert (told.outcomes["right"], told.monitored, told.monitored_wrong) == (2, 2, 0)
            assert "2 audits judged: 2 right, 0 wrong; 0 answers" in cactus(tmp_path)

            cloud.answers.append("another city")
            for _ in range(12):
                kept = service.client.complete(**GREEDY, cloud_handoff_threshold=LOW)
                assert (kept.text, kept.handoff.threshold) == (plain.text, LOW)
            assert audits_of(service, 14).unjudged == 12
            cactus(tmp_path, "--ask", input="w\n" * 12)
            wait_until(service.client, lambda _: audits_of(service, 14).step == 1)
            told = audits_of(service, 14)
            assert (told.drifts, told.monitored) == (1, 0)
            handed = service.client.complete(**GREEDY, cloud_handoff_threshold=LOW)
            assert (handed.handoff.status, handed.text) == ("completed", "another city")
            assert handed.handoff.threshold == told.min_threshold > LOW
            unasked = service.client.complete(**GREEDY)
            assert (unasked.text, unasked.handoff.status) == (plain.text, "none")
