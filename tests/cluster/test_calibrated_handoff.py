"""What `cactus calibrate` predicts is what the service then hands off: the same questions, not only as many."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from cactus_actors.calibration import Calibration, Example, ExampleOutcome, ThresholdTarget, run_examples
from cactus_actors.calibration.signal_scores import gate_inputs_of, signals_of
from cactus_actors.client import AsyncClient
from cactus_actors.config import HandoffSettings
from cactus_actors.protocol.confidence import SignalName
from cactus_actors.protocol.handoff_gates import HandoffGates
from cactus_actors.protocol.messages import ChatMessage
from tests.support.http.serving import Request, http_serving
from tests.support.services.running_service import Running
from training.handwritten.test_set import load_test_set

OPTIONS: dict[str, Any] = {"temperature": 0.0, "max_tokens": 48}
EVERY = 12
SHARE = ThresholdTarget(share=0.4)


@pytest.fixture
def cloud_url() -> Iterator[str]:
    """A cloud that has one word for every question."""

    def answer(request: Request) -> None:
        request.rfile.read(int(request.headers["content-length"]))
        request.send_response(200)
        request.send_header("content-type", "text/event-stream")
        request.end_headers()
        for content, reason in (("Perhaps.", None), ("", "stop")):
            choice = {"index": 0, "delta": {"content": content}, "finish_reason": reason}
            request.wfile.write(b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n")
        request.wfile.write(b"data: [DONE]\n\n")

    with http_serving(answer) as url:
        yield f"{url}/v1"


def labelled_questions() -> list[Example]:
    """Some of the hand-written questions, with a label that need not be fair."""
    return [
        Example(
            messages=[ChatMessage(**message) for message in question.asked().messages],
            tools=question.tools or None,
            contains=question.answers[:1] or "no answer has this",
        )
        for question in load_test_set()[::EVERY]
    ]


async def judged_by(service: Running, questions: Sequence[Example]) -> list[ExampleOutcome]:
    async with AsyncClient(service.endpoints.jobs, service.endpoints.stream) as client:
        return await run_examples(client, questions, OPTIONS, max_in_flight=16)


async def handed_off_by(service: Running, questions: Sequence[Example], threshold: float) -> set[int]:
    """The questions that the service hands off, all asked at once."""
    async with AsyncClient(service.endpoints.jobs, service.endpoints.stream) as client:
        results = await asyncio.gather(
            *(
                client.complete(
                    messages=question.messages, tools=question.tools, cloud_handoff_threshold=threshold, **OPTIONS
                )
                for question in questions
            )
        )
    # Recommended: a gate failed too late to hand off, and the one at the end did not.
    assert {result.handoff.status for result in results} - {"recommended"} == {"none", "completed"}
    return {number for number, result in enumerate(results) if result.cloud_handoff}


def predicted(outcomes: Sequence[ExampleOutcome], settings: HandoffSettings, threshold: float) -> set[int]:
    """The questions whose answers the gates stop somewhere."""
    found = set()
    for number, outcome in enumerate(outcomes):
        assert outcome.result is not None
        inputs = gate_inputs_of(outcome.result)
        assert inputs is not None
        signal = signals_of(inputs.fits)[settings.confidence_signal]
        count = HandoffGates(settings.first_gate_tokens).tokens_before_handoff(signal, inputs, threshold)
        found |= set() if count is None else {number}
    return found


async def check(serve_locally: Any, settings: HandoffSettings) -> None:
    questions = labelled_questions()
    with serve_locally(workers=1, handoff=settings) as service:
        outcomes = await judged_by(service, questions)
        (signal,) = (one for one in Calibration.of(outcomes, SHARE).signals if one.name == settings.confidence_signal)
        cut = signal.cut
        assert cut is not None
        assert 0 < cut.num_kept < cut.num_answers
        assert (signal.gates[0].num_tokens, signal.gates[0].cut) == (settings.first_gate_tokens, cut)
        handed_off = await handed_off_by(service, questions, cut.threshold)
    assert handed_off == predicted(outcomes, settings, cut.threshold)
    assert len(handed_off) == cut.num_answers - cut.num_kept


async def test_the_service_hands_off_the_questions_that_calibration_predicts(
    serve_locally: Any, cloud_url: str
) -> None:
    """Of a signal that rises again, so that each gate hands off questions that the others keep."""
    await check(serve_locally, HandoffSettings(base_url=cloud_url, confidence_signal="entropy", first_gate_tokens=3))


@pytest.mark.slow
@pytest.mark.parametrize(("signal", "first_gate"), [("answer_prob", 1), ("min_token_prob", 0), ("probe", 2)])
async def test_the_prediction_holds_for_every_signal(
    serve_locally: Any, cloud_url: str, signal: SignalName, first_gate: int
) -> None:
    await check(
        serve_locally, HandoffSettings(base_url=cloud_url, confidence_signal=signal, first_gate_tokens=first_gate)
    )
