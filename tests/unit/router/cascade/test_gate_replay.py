"""The router hands off where the same gates, replayed over the tokens of the result, say so."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cactus_actors.protocol.confidence import NO_FITS, entropy_confidence
from cactus_actors.protocol.handoff_gates import HandoffGates
from cactus_actors.protocol.results import GateInputs, Measures
from cactus_actors.router.state.token_log import TokenLog
from tests.support.router.cloud_jobs import STOP, submit
from tests.support.router.core_harness import RouterHarness
from tests.support.router.worker_messages import SURE, UNSURE, make_delta


def generate(router: RouterHarness, entropies: list[float]) -> int | None:
    """Generate an answer token by token; the number of tokens after which the cloud is asked."""
    worker, dispatch = router.running(1)
    asked_after = None
    for count, entropy in enumerate(entropies, 1):
        finish = STOP if count == len(entropies) else None
        router.report(worker, make_delta(dispatch.dispatch_id, count - 1, "x", entropy=entropy, finish=finish))
        if asked_after is None and router.is_running(1, "cloud"):
            asked_after = count
    return asked_after


@given(
    entropies=st.lists(st.sampled_from([0.1, 0.4, 0.45, 0.55, 0.9]), min_size=1, max_size=24),
    first_tokens=st.integers(0, 10),
)
def test_a_replay_finds_the_token_at_which_the_router_hands_off(entropies: list[float], first_tokens: int) -> None:
    router = RouterHarness(first_gate_tokens=first_tokens)
    router.connect("w1")
    router.connect("cloud", kind="cloud")
    submit(router)
    asked_after = generate(router, entropies)
    log = TokenLog()
    log.extend(0, [97] * len(entropies), "x" * len(entropies), entropies, [-1.0] * len(entropies), 0.0)
    gates = HandoffGates(first_tokens)
    assert asked_after == gates.tokens_before_handoff(entropy_confidence, log, 0.5)
    assert (asked_after is None) == (gates.lowest(entropy_confidence, log) >= 0.5)


def test_a_later_first_gate_forgives_an_unsure_first_token() -> None:
    reasons = []
    for first_tokens in (1, 3, 0):
        router = RouterHarness(first_gate_tokens=first_tokens)
        router.connect("w1")
        submit(router)
        generate(router, [UNSURE, UNSURE, UNSURE, *[SURE] * 9])
        reasons.append(router.result(1).handoff.status)
        handoff = router.result(1).handoff
        assert handoff.confidence == (None if first_tokens == 0 else pytest.approx(0.1))
    assert reasons == ["recommended", "recommended", "none"]


def test_a_result_has_what_the_gates_saw_if_the_job_asks_for_it() -> None:
    router = RouterHarness(first_gate_tokens=2)
    router.connect("w1")
    submit(router, 1, gate_inputs=True)
    generate(router, [0.1, 0.2, 0.3])
    measures = router.result(1).measures
    assert isinstance(measures, Measures)
    assert measures.gate_inputs == GateInputs(
        entropies=[0.1, 0.2, 0.3], logprobs=[-0.1, -0.2, -0.3], first_gate_tokens=2, commit_tokens=10, fits=NO_FITS
    )
    assert measures.entropy_at_gates == HandoffGates(2).lowest(entropy_confidence, measures.gate_inputs)

    submit(router, 2)
    router.generate(2, "abc", finish=STOP)
    without = router.result(2).measures
    assert without is not None
    assert without.gate_inputs is msgspec.UNSET


def test_max_entropy_is_compared_with_the_entropy_whichever_signal_the_service_uses() -> None:
    router = RouterHarness(confidence_signal="min_token_prob")
    router.connect("w1")
    for number, options in ((1, {"max_entropy": 0.5}), (2, {"cloud_handoff_threshold": 0.5})):
        router.submit(number, "question", **options)
        worker, dispatch = router.running(number)
        delta = make_delta(dispatch.dispatch_id, 0, "x", entropy=0.25, finish=STOP)
        router.report(worker, msgspec.structs.replace(delta, logprobs=[-3.0]))
    sure, unsure = router.result(1).handoff, router.result(2).handoff
    assert (sure.status, sure.signal) == ("none", "entropy")
    assert (unsure.status, unsure.signal) == ("recommended", "min_token_prob")
