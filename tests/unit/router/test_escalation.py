"""Confidence and the cloud: every gate, every status, and never a retracted token."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import UNSET, UnsetType

from cactus_actors.protocol.confidence import Probe, entropy_confidence
from cactus_actors.protocol.errors import HandoffFailed, Unavailable
from cactus_actors.protocol.key_grants import KeyGrants
from cactus_actors.protocol.messages import ChatMessage, Fetch, Progress, Resume, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.results import Handoff, Measures, Result, Usage
from cactus_actors.protocol.worker_messages import Dispatch, Finish
from cactus_actors.router.cascade.cloud_share import BURST
from cactus_actors.router.cascade.confidence_gates import (
    NO_KEY,
    early_gate_failure,
    final_gate_failure,
    unavailable_decision,
)
from cactus_actors.router.state.caller import Caller
from cactus_actors.router.state.cloud_attempt import GateFailure, HandoffDecision
from cactus_actors.router.state.token_log import TokenLog
from tests.support.router.core_harness import SURE, UNSURE, Disk, RouterHarness, Worker, job_id, make_delta

STOP = Finish("stop")
THRESHOLD = 0.5
CLOUD_STOP = Finish("stop", provider="cloud.example/big", usage=Usage(prompt_tokens=9, completion_tokens=4))


@pytest.fixture
def router() -> RouterHarness:
    router = RouterHarness()
    router.connect("w1")
    return router


@pytest.fixture
def cloud(router: RouterHarness) -> Worker:
    return router.connect("cloud", kind="cloud", num_slots=1, model="big")


def submit(router: RouterHarness, number: int = 1, **options: object) -> None:
    router.submit(number, "question", cloud_handoff_threshold=THRESHOLD, **options)


def cloud_dispatch(router: RouterHarness, number: int = 1) -> Dispatch:
    return router.running(number, "cloud")[1]


def fail_cloud(router: RouterHarness, cloud: Worker, number: int = 1, position: int = 0) -> None:
    failure = Finish("error", error=Unavailable("the provider answered 503").info())
    dispatch_id = cloud_dispatch(router, number).dispatch_id
    router.report(cloud, make_delta(dispatch_id, position, "", entropy=None, token_ids=[], finish=failure))


# gates


def log_of(entropies: list[float], logprobs: list[float] | None = None) -> TokenLog:
    log, count = TokenLog(), len(entropies)
    log.extend(0, [97] * count, "x" * count, entropies, logprobs or [-1.0] * count, 0.0)
    return log


def early(entropies: list[float], threshold: float = THRESHOLD) -> GateFailure | None:
    """What the last of these tokens brings, all others having passed."""
    return early_gate_failure(entropy_confidence, log_of(entropies), len(entropies), threshold, 10)


def end(entropies: list[float], threshold: float = THRESHOLD) -> GateFailure | None:
    return final_gate_failure(entropy_confidence, log_of(entropies), threshold)


def test_the_first_token_is_a_gate() -> None:
    assert early([0.6]) == GateFailure("first token", 0.4)
    assert early([0.5]) is None
    assert early([0.1, 0.9]) is None


def test_the_window_rolls_over_ten_tokens() -> None:
    nine = [0.1, *[0.9] * 8]
    assert early(nine) is None
    assert early([*nine, 0.9]) == GateFailure("rolling window", pytest.approx(0.18))
    assert early([0.9, *[0.1] * 10]) is None  # the first one has left the window


def test_the_end_is_a_gate_over_everything() -> None:
    assert end([]) is None
    assert end([0.4, 0.4]) is None
    assert end([0.4, 0.8]) == GateFailure("end of generation", pytest.approx(0.4))


def test_a_threshold_of_zero_is_never() -> None:
    assert early([1.0] * 20, 0.0) is None
    assert end([1.0], 0.0) is None


def test_why_no_cloud_can_be_asked() -> None:
    assert unavailable_decision([]) == HandoffDecision("recommended", "no cloud worker is connected")
    assert unavailable_decision([], has_cloud=False) == HandoffDecision("recommended", NO_KEY)
    assert unavailable_decision([NO_KEY]) == HandoffDecision("recommended", NO_KEY)
    assert unavailable_decision([NO_KEY, "breaker open"]) == HandoffDecision("suppressed", "breaker open")
    assert unavailable_decision(["breaker open", None]) is None


# none


def test_a_sure_job_stays_here(router: RouterHarness, cloud: Worker) -> None:
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


# completed


def test_an_unsure_first_token_goes_to_the_cloud(router: RouterHarness, cloud: Worker) -> None:
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
    assert not router.is_running(1)  # seen: the local run is of no use any more
    router.now += 0.25
    router.generate(1, "cloud", kind="cloud", finish=CLOUD_STOP)
    assert router.streamed_text(1) == "from the cloud"
    result = router.result(1)
    assert result.text == "from the cloud"
    assert result.token_ids == [0, 0]
    assert result.cloud_handoff
    # nobody knows how sure the cloud was; what the local model was is told apart
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


def test_a_rolling_window_goes_to_the_cloud_before_the_commit(router: RouterHarness, cloud: Worker) -> None:
    submit(router)
    router.generate(1, "a", entropy=SURE)
    for _ in range(9):
        router.generate(1, "b", entropy=UNSURE)
    assert router.is_running(1, "cloud")


def test_an_unseen_job_may_go_at_its_end(router: RouterHarness, cloud: Worker) -> None:
    submit(router)
    router.generate(1, "x" * 10, entropy=SURE)
    router.generate(1, "y" * 30, entropy=0.7, finish=STOP)
    assert router.finished(1) == []
    router.generate(1, "better", kind="cloud", finish=CLOUD_STOP)
    result = router.result(1)
    assert (result.text, result.handoff.reason) == ("better", "end of generation")


def test_a_short_unsure_answer_goes_at_its_end(router: RouterHarness, cloud: Worker) -> None:
    submit(router)
    router.subscribe(1)
    router.generate(1, "a", entropy=SURE)
    router.generate(1, "bc", entropy=UNSURE, finish=STOP)
    assert router.published == []
    router.generate(1, "better", kind="cloud", finish=CLOUD_STOP)
    assert router.streamed_text(1) == router.result(1).text == "better"


def test_token_ids_and_messages_are_understood_by_the_cloud(router: RouterHarness, cloud: Worker) -> None:
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


# signals


def local_judgement(result: Result) -> tuple[float | None, Measures]:
    """Confidence and measures of what was generated here, whoever answered."""
    told = result.handoff if result.cloud_handoff else None
    confidence = result.confidence if told is None else told.local_confidence
    measures = result.measures if told is None else told.local_measures
    assert isinstance(measures, Measures)
    assert not isinstance(confidence, UnsetType)
    return confidence, measures


def generate_one_doubt(router: RouterHarness) -> Handoff:
    """Low entropies throughout, and one unlikely token among twelve; the job is not being watched."""
    submit(router)
    worker, dispatch = router.running(1)
    logprobs = [-0.01] * 5 + [-2.0] + [-0.01] * 6
    delta = make_delta(dispatch.dispatch_id, 0, "x" * 12, entropy=SURE, finish=STOP)
    router.report(worker, msgspec.structs.replace(delta, logprobs=logprobs))
    if router.is_running(1, "cloud"):
        router.generate(1, "b", kind="cloud", finish=CLOUD_STOP)
    return router.result(1).handoff


SURPRISED = Probe(bias=2.0, entropy_mean=0.0, entropy_max=0.0, surprise_mean=0.0, surprise_max=-9.0, length=0.0)


@pytest.mark.parametrize(
    ("signal", "status"),
    [
        ("entropy", "none"),
        ("min_token_prob", "completed"),
        ("answer_prob", "completed"),
        ("probe", "completed"),
    ],
)
def test_the_services_signal_decides(signal: str, status: str) -> None:
    router = RouterHarness(probe=SURPRISED, confidence_signal=signal)
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


def test_without_a_probe_there_is_no_such_measure(router: RouterHarness) -> None:
    generate_one_doubt(router)
    assert local_judgement(router.result(1))[1].probe is None


# recommended


@pytest.mark.parametrize("reason", [NO_KEY, None])
def test_without_a_provider_the_local_answer_stands(router: RouterHarness, reason: str | None) -> None:
    if reason:
        router.report(router.connect("cloud", kind="cloud"), unavailable=reason)
    submit(router)
    router.subscribe(1)
    router.generate(1, "a", entropy=UNSURE)
    assert router.streamed_text(1) == "a"  # nothing to wait for
    router.generate(1, "b", entropy=UNSURE, finish=STOP)
    result = router.result(1)
    assert (result.text, result.success, result.cloud_handoff) == ("ab", True, False)
    assert result.handoff.status == "recommended"
    assert result.handoff.provider is None
    assert result.handoff.reason == reason or "no cloud worker" in str(result.handoff.reason)


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
def test_gates_do_not_depend_on_how_many_tokens_a_step_brings(num_sure: int, num_unsure: int) -> None:
    """Tokens that come together are judged one after another."""
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


def test_asking_for_nothing_does_not_count_as_seen(router: RouterHarness, cloud: Worker) -> None:
    submit(router)
    router.generate(1, "x" * 10, entropy=SURE)
    [replay] = router.client(Resume(job_id=job_id(1), credit=0))
    assert (replay.length, replay.deltas) == (10, [])
    router.generate(1, "y" * 30, entropy=UNSURE, finish=STOP)
    assert router.is_running(1, "cloud")


def test_what_is_buffered_is_not_replayed(router: RouterHarness, cloud: Worker) -> None:
    submit(router)
    router.generate(1, "abc", entropy=SURE)
    [replay] = router.client(Resume(job_id=job_id(1)))
    assert (replay.length, replay.deltas) == (0, [])


# suppressed


def test_a_private_job_never_leaves(router: RouterHarness, cloud: Worker) -> None:
    submit(router, allow_cloud=False)
    router.subscribe(1)
    router.generate(1, "a", entropy=UNSURE)
    assert router.streamed_text(1) == "a"
    router.generate(1, "b", entropy=UNSURE, finish=STOP)
    handoff = router.result(1).handoff
    assert (handoff.status, handoff.reason) == ("suppressed", "allow_cloud is false")
    assert cloud.dispatches == {}


NEVER = Caller("never", "client", "never", 9, KeyGrants(allow_cloud=False))
GATEWAY = Caller("gateway", "client", "gateway", 9)
FREE = {"ann": KeyGrants()}
KEPT = {"ann": KeyGrants(allow_cloud=False)}


@pytest.mark.parametrize(
    ("caller", "account", "accounts"),
    [
        (NEVER, "", {}),
        (NEVER, "ann", FREE),
        (GATEWAY, "ann", KEPT),
        (GATEWAY, "made-up", FREE),
    ],
)
@pytest.mark.parametrize("is_restarted", [False, True])
def test_no_job_of_a_key_without_the_cloud_goes_there(
    caller: Caller, account: str, accounts: dict[str, KeyGrants], is_restarted: bool
) -> None:
    """Whatever the request says, at every gate, and in the next router, whatever the keys are by then."""
    disk = Disk()
    router = RouterHarness(disk=disk, accounts=accounts)
    texts = {1: ("", "a" * 20), 2: ("a" * 10, "b" * 20), 3: ("a" * 9, "b" * 40)}

    def ask(number: int, caller: Caller, account: str) -> None:
        options = Options(seed=number, cloud_handoff_threshold=1.0, allow_cloud=True)
        message = Submit(job_id=job_id(number), prompt="question", options=options, account=account)
        router.client(message, caller=caller)
        router.write_to_disk()

    for number in texts:
        ask(number, caller, account)
    if is_restarted:
        router = RouterHarness(disk=disk, accounts=FREE)
    router.connect("w1", num_slots=4)
    cloud = router.connect("cloud", kind="cloud", num_slots=4)
    for number, (sure, unsure) in texts.items():
        router.client(Fetch(job_id=job_id(number)), caller=caller)
        router.generate(number, sure)
        router.generate(number, unsure, entropy=UNSURE, finish=STOP)
        result = router.result(number)
        assert (result.handoff.status, result.text) == ("suppressed", sure + unsure)
        assert result.handoff.reason == "the key does not allow the cloud"
    assert router.num_dispatches["cloud"] == 0
    assert cloud.dispatches == {}
    ask(9, GATEWAY, "")
    router.generate(9, "x", entropy=UNSURE)
    assert router.is_running(9, "cloud")  # others' go


@pytest.mark.parametrize("reason", ["circuit breaker open", "budget spent"])
def test_an_unavailable_cloud_is_a_suppression(router: RouterHarness, cloud: Worker, reason: str) -> None:
    router.report(cloud, unavailable=reason)
    submit(router)
    router.generate(1, "ab", entropy=UNSURE, finish=STOP)
    result = router.result(1)
    assert (result.handoff.status, result.handoff.reason, result.text) == ("suppressed", reason, "ab")


def test_jobs_wait_a_while_for_a_cloud_slot(router: RouterHarness, cloud: Worker) -> None:
    submit(router, 1)
    submit(router, 2)
    router.generate(1, "a", entropy=UNSURE, finish=STOP)
    router.generate(2, "b", entropy=UNSURE, finish=STOP)
    assert not router.is_running(2, "cloud")
    router.generate(1, "one", kind="cloud", finish=CLOUD_STOP)
    router.generate(2, "two", kind="cloud", finish=CLOUD_STOP)
    assert (router.result(1).text, router.result(2).text) == ("one", "two")


def test_nobody_waits_for_a_cloud_slot_for_ever(router: RouterHarness, cloud: Worker) -> None:
    submit(router, 1)
    submit(router, 2)
    router.generate(1, "a", entropy=UNSURE, finish=STOP)
    router.generate(2, "b", entropy=UNSURE, finish=STOP)
    router.pass_time(11.0)
    result = router.result(2)
    assert (result.text, result.handoff.status) == ("b", "suppressed")
    assert "cloud slot" in str(result.handoff.reason)


def test_waiting_ends_when_the_cloud_becomes_unavailable(router: RouterHarness, cloud: Worker) -> None:
    submit(router, 1)
    submit(router, 2)
    router.generate(1, "a", entropy=UNSURE, finish=STOP)
    router.generate(2, "b", entropy=UNSURE, finish=STOP)
    router.report(cloud, unavailable="circuit breaker open")
    assert router.result(2).handoff.status == "suppressed"
    assert router.finished(1) == []  # it is being answered


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 1.0])
def test_no_more_than_a_share_of_the_jobs_is_handed_off(share: float) -> None:
    router = RouterHarness(max_handoff_share=share)
    router.connect("w1", num_slots=1)
    router.connect("cloud", kind="cloud", num_slots=1)
    statuses = []
    for number in range(1, 101):
        submit(router, number)
        router.generate(number, "a", entropy=UNSURE, finish=STOP)
        if router.is_running(number, "cloud"):
            router.generate(number, "b", kind="cloud", finish=CLOUD_STOP)
        statuses.append(router.result(number).handoff)
    completed = sum(handoff.status == "completed" for handoff in statuses)
    assert completed == (100 if share == 1.0 else int(share * 100 + BURST - share))
    reasons = {handoff.reason for handoff in statuses if handoff.status == "suppressed"}
    assert reasons == (set() if share == 1.0 else {"share spent"})


# failed


def test_a_failing_cloud_gives_the_local_answer(router: RouterHarness, cloud: Worker) -> None:
    submit(router)
    router.subscribe(1)
    router.generate(1, "ab", entropy=UNSURE)
    fail_cloud(router, cloud)
    assert router.streamed_text(1) == "ab"
    router.generate(1, "c", entropy=UNSURE, finish=STOP)
    result = router.result(1)
    assert (result.text, result.success, result.cloud_handoff) == ("abc", True, False)
    assert (result.handoff.status, result.handoff.reason) == ("failed", "the provider answered 503")
    assert router.streamed_text(1) == "abc"


def test_a_finished_local_answer_waits_for_the_cloud_to_fail(router: RouterHarness, cloud: Worker) -> None:
    submit(router)
    router.generate(1, "ab", entropy=UNSURE, finish=STOP)
    assert router.finished(1) == []
    fail_cloud(router, cloud)
    assert router.result(1).text == "ab"


def test_a_cloud_that_breaks_off_after_a_seen_chunk_fails_the_job(router: RouterHarness, cloud: Worker) -> None:
    submit(router)
    router.subscribe(1)
    router.generate(1, "ab", entropy=UNSURE)
    router.generate(1, "from the ", kind="cloud")
    assert not router.is_running(1)
    fail_cloud(router, cloud, position=1)
    assert router.finished(1) == []  # the local run goes on: its answer is told beside the error
    assert router.running(1)[1].emitted_ids == [97, 98]
    router.generate(1, "cd", entropy=UNSURE, finish=STOP)
    result = router.result(1)
    assert result.error is not None
    assert (result.success, result.error.type, result.text) == (False, "handoff_error", "from the ")
    assert "the provider answered 503" in result.error.message
    assert (result.handoff.status, result.handoff.local_text) == ("failed", "abcd")
    assert result.handoff.local_finish_reason == "stop"
    assert result.handoff.local_usage == Usage(prompt_tokens=9, completion_tokens=4)
    assert (result.model, result.confidence, result.handoff.usage_is_estimated) == ("big", None, True)
    assert router.streamed_text(1) == "from the "


def test_a_local_answer_that_was_whole_is_told_at_once_beside_the_error(router: RouterHarness, cloud: Worker) -> None:
    submit(router)
    router.subscribe(1)
    router.generate(1, "ab", entropy=UNSURE, finish=STOP)
    router.generate(1, "from the ", kind="cloud")
    fail_cloud(router, cloud, position=1)
    handoff = router.result(1).handoff
    assert (handoff.local_text, handoff.local_finish_reason) == ("ab", "stop")


def test_a_deadline_ends_a_job_whose_cloud_broke_off_with_what_there_is(router: RouterHarness, cloud: Worker) -> None:
    submit(router, timeout_ms=1000)
    router.subscribe(1)
    router.generate(1, "ab", entropy=UNSURE)
    router.generate(1, "from the ", kind="cloud")
    fail_cloud(router, cloud, position=1)
    router.pass_time(1.5)
    result = router.result(1)
    assert result.error is not None
    assert (result.error.type, result.text) == ("timeout_error", "from the ")
    assert (result.handoff.local_text, result.handoff.local_finish_reason) == ("ab", "cancelled")
    assert not router.is_running(1)


def test_what_a_failed_answer_cost_is_told_beside_the_local_one(router: RouterHarness, cloud: Worker) -> None:
    submit(router)
    router.generate(1, "ab", entropy=UNSURE, finish=STOP)
    spent = Usage(prompt_tokens=9, completion_tokens=1)
    failure = Finish(
        "error", error=Unavailable("gone").info(), usage=spent, is_estimated=True, cost=0.25, currency="EUR"
    )
    dispatch_id = cloud_dispatch(router).dispatch_id
    router.report(cloud, make_delta(dispatch_id, 0, "", entropy=None, token_ids=[], finish=failure))
    result = router.result(1)
    assert (result.text, result.usage) == ("ab", Usage(prompt_tokens=9, completion_tokens=2))
    assert (result.handoff.cloud_usage, result.handoff.cost, result.handoff.currency) == (spent, 0.25, "EUR")
    assert result.model == "letters"


def test_tokens_that_a_cloud_does_not_count_are_estimated(router: RouterHarness, cloud: Worker) -> None:
    submit(router)
    router.generate(1, "ab", entropy=UNSURE, finish=STOP)
    router.generate(1, "from ", kind="cloud")
    router.generate(1, "there", kind="cloud", finish=Finish("stop", provider="cloud.example/big"))
    result = router.result(1)
    assert result.usage == Usage(prompt_tokens=9, completion_tokens=2)
    assert result.handoff.usage_is_estimated is True


def test_the_stream_of_a_cloud_answer_names_its_model_when_it_is_read_later(
    router: RouterHarness, cloud: Worker
) -> None:
    submit(router)
    router.generate(1, "ab", entropy=UNSURE, finish=STOP)
    router.generate(1, "better", kind="cloud", finish=CLOUD_STOP)
    [replay] = router.client(Resume(job_id=job_id(1)))
    assert [delta.model for delta in replay.deltas] == ["big"]
    router.submit(2)
    router.generate(2, "ab", finish=STOP)
    [replay] = router.client(Resume(job_id=job_id(2)))
    assert [delta.model for delta in replay.deltas] == [None]


def test_the_share_is_whole_again_where_a_budget_refuses(cloud: Worker) -> None:
    router = RouterHarness(max_handoff_share=0.0)
    router.connect("w1", num_slots=64)
    worker = router.connect("cloud", kind="cloud", num_slots=64)
    for number in range(1, 2 * int(BURST)):
        submit(router, number)
        router.generate(number, "ab", entropy=UNSURE, finish=STOP)
        refused = HandoffFailed("cloud_budget_spent: the tenant's budget spent for this day").info()
        finish = Finish("error", error=refused, is_refused=True)
        dispatch_id = cloud_dispatch(router, number).dispatch_id
        router.report(worker, make_delta(dispatch_id, 0, "", entropy=None, token_ids=[], finish=finish))
        handoff = router.result(number).handoff
        assert (handoff.status, handoff.reason) == ("suppressed", "the tenant's budget spent for this day")
        assert router.result(number).text == "ab"


def test_the_cloud_is_told_whose_budget_a_job_spends(router: RouterHarness, cloud: Worker) -> None:
    options = Options(cloud_handoff_threshold=THRESHOLD)
    caller = Caller("ann", "client", "ann", 64)
    router.client(Submit(job_id=job_id(1), prompt="question", options=options), caller=caller)
    router.generate(1, "a", entropy=UNSURE)
    dispatch = cloud_dispatch(router)
    assert (dispatch.tenant, dispatch.num_prompt_tokens) == ("ann", 9)


# max_wait


def test_a_cloud_that_takes_too_long_gives_the_local_answer() -> None:
    router = RouterHarness(max_handoff_wait_s=2.0)
    router.connect("w1")
    cloud = router.connect("cloud", kind="cloud", num_slots=1)
    submit(router, 1)
    router.subscribe(1)
    router.generate(1, "ab", entropy=UNSURE, finish=STOP)
    submit(router, 2)
    router.generate(2, "xy", entropy=UNSURE)  # no slot is free at the cloud
    dispatch_id = cloud_dispatch(router, 1).dispatch_id
    router.pass_time(1.5)
    assert router.finished(1) == []
    router.pass_time(1.0)
    result = router.result(1)
    assert (result.text, result.success) == ("ab", True)
    assert (result.handoff.status, result.handoff.reason) == ("failed", "no answer of the cloud within 2 s")
    assert cloud.aborted == [dispatch_id]
    assert not router.is_running(2, "cloud")
    router.generate(2, "z", entropy=UNSURE, finish=STOP)  # was not over yet: it goes on where it was
    assert router.result(2).text == "xyz"
    assert router.core.status(router.now).held.dispatches == 0


def test_a_cloud_answer_that_was_seen_in_part_may_take_longer() -> None:
    router = RouterHarness(max_handoff_wait_s=2.0)
    router.connect("w1")
    router.connect("cloud", kind="cloud", num_slots=1)
    submit(router)
    router.subscribe(1)
    router.generate(1, "ab", entropy=UNSURE, finish=STOP)
    router.generate(1, "slow", kind="cloud")
    router.pass_time(5.0)
    router.generate(1, "ly", kind="cloud", finish=CLOUD_STOP)
    assert router.result(1).text == "slowly"


def test_an_unseen_part_of_a_slow_answer_is_no_answer() -> None:
    router = RouterHarness(max_handoff_wait_s=2.0)
    router.connect("w1")
    router.connect("cloud", kind="cloud", num_slots=1)
    submit(router)
    router.generate(1, "ab", entropy=UNSURE, finish=STOP)
    router.generate(1, "slow", kind="cloud")
    router.pass_time(2.5)
    assert router.result(1).text == "ab"
    assert router.result(1).model == "letters"


def test_a_cloud_that_breaks_off_unseen_gives_the_local_answer(router: RouterHarness, cloud: Worker) -> None:
    submit(router)
    router.generate(1, "ab", entropy=UNSURE)
    router.generate(1, "from the ", kind="cloud")
    assert router.is_running(1)
    fail_cloud(router, cloud, position=1)
    router.subscribe(1)
    router.generate(1, "c", finish=STOP)
    assert router.result(1).text == "abc"
    assert router.result(1).token_ids == [97, 98, 99]


def test_an_empty_cloud_answer_is_a_failure(router: RouterHarness, cloud: Worker) -> None:
    submit(router)
    router.generate(1, "ab", entropy=UNSURE, finish=STOP)
    router.generate(1, "", kind="cloud", finish=CLOUD_STOP)
    assert router.result(1).text == "ab"
    assert router.result(1).handoff.status == "failed"


def test_a_lost_cloud_worker_is_a_failure(router: RouterHarness, cloud: Worker) -> None:
    submit(router)
    router.generate(1, "ab", entropy=UNSURE, finish=STOP)
    router.lose(cloud)
    assert router.result(1).handoff.reason == "the cloud worker was lost"


def test_a_lost_local_worker_does_not_disturb_the_cloud(router: RouterHarness, cloud: Worker) -> None:
    submit(router)
    router.generate(1, "ab", entropy=UNSURE)
    router.lose(router.running(1)[0])
    router.generate(1, "fine", kind="cloud", finish=CLOUD_STOP)
    assert router.result(1).text == "fine"
    router.connect("w2")
    assert not router.is_running(1)


def test_cancel_and_deadline_reach_the_cloud(router: RouterHarness, cloud: Worker) -> None:
    submit(router, timeout_ms=1000)
    router.subscribe(1)
    router.generate(1, "ab", entropy=UNSURE)
    dispatch = cloud_dispatch(router)
    assert dispatch.timeout_s == pytest.approx(1.0)
    router.pass_time(1.5)
    assert cloud.aborted == [dispatch.dispatch_id]
    result = router.result(1)
    assert result.error is not None
    assert (result.error.type, result.text) == ("timeout_error", "ab")
    assert [message.length for message in router.published if isinstance(message, Progress)] in ([], [0])
