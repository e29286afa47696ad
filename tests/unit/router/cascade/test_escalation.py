"""Jobs that go to the cloud: their gate, their request, and never after a published token."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import UNSET, UnsetType

from cactus_actors.protocol.confidence import Probability, Probe, SignalFits
from cactus_actors.protocol.messages import ChatMessage, Resume, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.results import Handoff, Measures, Result, Usage
from tests.support.router.cloud_jobs import CLOUD_STOP, STOP, THRESHOLD, cloud_dispatch, submit
from tests.support.router.core_harness import RouterHarness, job_id
from tests.support.router.worker_messages import SURE, UNSURE, Worker, make_delta


def test_a_confident_job_is_answered_locally(router: RouterHarness, cloud: Worker) -> None:
    submit(router)
    router.subscribe(1)
    router.generate(1, "nine long")
    assert router.published == []  # nine tokens are buffered
    router.generate(1, "!")
    assert router.streamed_text(1) == "nine long!"
    router.generate(1, " end", finish=STOP)
    assert router.streamed_text(1) == "nine long! end"
    result = router.result(1)
    assert result.handoff == Handoff(status="none", threshold=THRESHOLD)
    assert (result.confidence, result.accepted, result.cloud_handoff) == (pytest.approx(0.9), True, False)
    assert cloud.dispatches == {}


def test_without_a_threshold_nothing_is_buffered(router: RouterHarness, cloud: Worker) -> None:
    router.submit(1)
    router.subscribe(1)
    router.generate(1, "a", entropy=1.0)
    assert router.streamed_text(1) == "a"
    router.generate(1, "b", entropy=1.0, finish=STOP)
    result = router.result(1)
    assert (result.handoff.status, result.confidence, result.accepted) == ("none", 0.0, False)


def test_a_first_token_of_low_confidence_hands_off(router: RouterHarness, cloud: Worker) -> None:
    submit(router)
    router.subscribe(1)
    router.generate(1, "a", entropy=UNSURE)
    dispatch = cloud_dispatch(router)
    assert dispatch.request is not None
    assert dispatch.request.prompt == "question"
    router.generate(1, "bc", entropy=UNSURE)  # the local run goes on, unseen
    assert router.published == []

    router.now += 0.25
    router.generate(1, "from the ", kind="cloud")
    assert router.streamed_text(1) == "from the "
    assert not router.is_running(1)  # seen: the local run is not needed any more
    router.now += 0.25
    router.generate(1, "cloud", kind="cloud", finish=CLOUD_STOP)
    assert router.streamed_text(1) == "from the cloud"
    result = router.result(1)
    assert result.text == "from the cloud"
    assert result.token_ids == [0, 0]
    assert result.cloud_handoff
    # the cloud's confidence is unknown; the local model's is reported separately
    assert (result.model, result.confidence, result.measures, result.accepted) == ("big", None, None, True)
    assert result.usage == Usage(prompt_tokens=9, completion_tokens=4)
    assert result.timings.prefill_tokens_per_second == 0.0
    assert result.timings.decode_tokens_per_second == pytest.approx((4 - 1) / 0.25)
    local = result.handoff.local_measures
    assert isinstance(local, Measures)
    assert (local.entropy_mean, local.entropy_max) == (pytest.approx(0.9), pytest.approx(0.9))
    assert msgspec.structs.replace(result.handoff, local_measures=UNSET) == Handoff(
        status="completed",
        reason="first token",
        confidence=pytest.approx(0.1),
        threshold=THRESHOLD,
        provider="cloud.example/big",
        latency_ms=pytest.approx(500),
        model="big",
        usage_is_estimated=False,
        local_model="letters",
        local_usage=Usage(prompt_tokens=9, completion_tokens=3),
        local_confidence=pytest.approx(0.1),
    )
    assert [delta.model for delta in router.deltas(1)] == ["big", "big"]
    assert router.core.status(router.now).jobs.handoffs_completed == 1


def test_a_rolling_window_of_low_confidence_hands_off_before_the_commit(router: RouterHarness, cloud: Worker) -> None:
    submit(router)
    router.generate(1, "a", entropy=SURE)
    for _ in range(9):
        router.generate(1, "b", entropy=UNSURE)
    assert router.is_running(1, "cloud")


def test_an_unseen_job_can_be_handed_off_at_its_end(router: RouterHarness, cloud: Worker) -> None:
    submit(router)
    router.generate(1, "x" * 10, entropy=SURE)
    router.generate(1, "y" * 30, entropy=0.7, finish=STOP)
    assert router.finished(1) == []
    router.generate(1, "better", kind="cloud", finish=CLOUD_STOP)
    result = router.result(1)
    assert (result.text, result.handoff.reason) == ("better", "end of generation")


def test_a_short_answer_of_low_confidence_is_handed_off_at_its_end(router: RouterHarness, cloud: Worker) -> None:
    submit(router)
    router.subscribe(1)
    router.generate(1, "a", entropy=SURE)
    router.generate(1, "bc", entropy=UNSURE, finish=STOP)
    assert router.published == []
    router.generate(1, "better", kind="cloud", finish=CLOUD_STOP)
    assert router.streamed_text(1) == router.result(1).text == "better"


def test_token_ids_and_messages_are_converted_for_the_cloud(router: RouterHarness, cloud: Worker) -> None:
    options = Options(cloud_handoff_threshold=THRESHOLD)
    router.client(Submit(job_id=job_id(1), prompt=[1, 104, 105], options=options))
    router.generate(1, "a", entropy=UNSURE)
    request = cloud_dispatch(router).request
    assert request is not None
    assert request.prompt == "hi"
    router.generate(1, "ok", kind="cloud", finish=CLOUD_STOP)
    messages = [ChatMessage(role="user", content="hello")]
    router.client(Submit(job_id=job_id(2), messages=messages, options=options))
    router.generate(2, "a", entropy=UNSURE)
    request = cloud_dispatch(router, 2).request
    assert request is not None
    assert (request.messages, request.prompt) == (messages, None)


def local_judgement(result: Result) -> tuple[float | None, Measures]:
    """Confidence and measures of the local answer, whichever answer the client gets."""
    told = result.handoff if result.cloud_handoff else None
    confidence = result.confidence if told is None else told.local_confidence
    measures = result.measures if told is None else told.local_measures
    assert isinstance(measures, Measures)
    assert not isinstance(confidence, UnsetType)
    return confidence, measures


def generate_one_doubt(router: RouterHarness) -> Handoff:
    """Low entropies throughout, and one unlikely token among twelve; no client follows the job."""
    submit(router)
    worker, dispatch = router.running(1)
    logprobs = [-0.01] * 5 + [-2.0] + [-0.01] * 6
    delta = make_delta(dispatch.dispatch_id, 0, "x" * 12, entropy=SURE, finish=STOP)
    router.report(worker, msgspec.structs.replace(delta, logprobs=logprobs))
    if router.is_running(1, "cloud"):
        router.generate(1, "b", kind="cloud", finish=CLOUD_STOP)
    return router.result(1).handoff


SURPRISED = Probe(bias=2.0, entropy_mean=0.0, entropy_max=0.0, surprise_mean=0.0, surprise_max=-9.0, length=0.0)

RAISED = Probability(signal="min_token_prob", scores=[0.0, 1.0], probabilities=[0.1, 1.0])


@pytest.mark.parametrize(
    ("signal", "status"),
    [
        ("entropy", "none"),
        ("min_token_prob", "completed"),
        ("answer_prob", "completed"),
        ("probe", "completed"),
        ("probability", "completed"),
    ],
)
def test_the_configured_signal_decides(signal: str, status: str) -> None:
    router = RouterHarness(fits=SignalFits(SURPRISED, RAISED), confidence_signal=signal)
    router.connect("w1")
    router.connect("cloud", kind="cloud")
    handoff = generate_one_doubt(router)
    assert (handoff.status, handoff.signal, handoff.threshold) == (status, signal, THRESHOLD)
    if status == "completed":
        assert handoff.reason == "rolling window"
        assert handoff.confidence is not None
        assert handoff.confidence < THRESHOLD
    confidence, measures = local_judgement(router.result(1))
    assert confidence == pytest.approx(1 - SURE)
    assert measures.min_token_prob == pytest.approx(0.1353, abs=1e-4)
    assert measures.probe == pytest.approx(SURPRISED([0.1], [-2.0]))
    assert measures.probability == pytest.approx(0.1 + 0.9 * measures.min_token_prob)


def test_without_fits_their_signals_are_missing(router: RouterHarness) -> None:
    generate_one_doubt(router)
    measures = local_judgement(router.result(1))[1]
    assert (measures.probe, measures.probability) == (None, None)


def test_a_seen_stream_is_never_retracted(router: RouterHarness, cloud: Worker) -> None:
    submit(router)
    router.subscribe(1)
    router.generate(1, "x" * 10, entropy=SURE)
    for _ in range(30):
        router.generate(1, "y", entropy=UNSURE)
    router.generate(1, "z", entropy=UNSURE, finish=STOP)
    result = router.result(1)
    assert router.streamed_text(1) == result.text == "x" * 10 + "y" * 30 + "z"
    assert (result.handoff.status, result.cloud_handoff) == ("recommended", False)
    assert cloud.dispatches == {}


@pytest.mark.parametrize("num_sure", [0, 4, 9, 10, 11, 15])
@pytest.mark.parametrize("num_unsure", [1, 8, 14])
def test_gates_do_not_depend_on_the_number_of_tokens_per_step(num_sure: int, num_unsure: int) -> None:
    """Tokens of one step are judged one after another."""
    results = []
    for step in (1, 3, 50):
        router = RouterHarness()
        worker = router.connect("w1")
        submit(router)
        entropies = [SURE] * num_sure + [UNSURE] * num_unsure
        for start in range(0, len(entropies), step):
            part = entropies[start : start + step]
            delta = make_delta(1, start, "x" * len(part))
            router.report(worker, msgspec.structs.replace(delta, entropies=part))
        router.generate(1, "", finish=STOP, entropy=None)
        results.append((router.result(1).handoff, router.result(1).measures))
    assert results[0] == results[1] == results[2]


def test_a_replay_counts_as_seen(router: RouterHarness, cloud: Worker) -> None:
    submit(router)
    router.generate(1, "x" * 10, entropy=SURE)
    [replay] = router.client(Resume(job_id=job_id(1)))
    assert replay.length == 10
    router.generate(1, "y" * 30, entropy=UNSURE, finish=STOP)
    assert router.result(1).handoff.status == "recommended"


def test_a_replay_without_credit_does_not_count_as_seen(router: RouterHarness, cloud: Worker) -> None:
    submit(router)
    router.generate(1, "x" * 10, entropy=SURE)
    [replay] = router.client(Resume(job_id=job_id(1), credit=0))
    assert (replay.length, replay.deltas) == (10, [])
    router.generate(1, "y" * 30, entropy=UNSURE, finish=STOP)
    assert router.is_running(1, "cloud")


def test_buffered_tokens_are_not_replayed(router: RouterHarness, cloud: Worker) -> None:
    submit(router)
    router.generate(1, "abc", entropy=SURE)
    [replay] = router.client(Resume(job_id=job_id(1)))
    assert (replay.length, replay.deltas) == (0, [])


def test_a_replayed_cloud_answer_names_its_model(router: RouterHarness, cloud: Worker) -> None:
    submit(router)
    router.generate(1, "ab", entropy=UNSURE, finish=STOP)
    router.generate(1, "better", kind="cloud", finish=CLOUD_STOP)
    [replay] = router.client(Resume(job_id=job_id(1)))
    assert [delta.model for delta in replay.deltas] == ["big"]
    router.submit(2)
    router.generate(2, "ab", finish=STOP)
    [replay] = router.client(Resume(job_id=job_id(2)))
    assert [delta.model for delta in replay.deltas] == [None]
