"""Jobs that are handed off by their prompt: before their answer, without a local run until the cloud fails."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from cactus_actors.protocol.prompt_probe import PromptProbe, candidate_layers
from cactus_actors.protocol.results import GateInputs, Handoff, Measures
from cactus_actors.protocol.worker_messages import Finish, SequenceExtras
from tests.support.router.cloud_jobs import CLOUD_STOP, STOP, cloud_dispatch, fail_cloud, submit
from tests.support.router.core_harness import RouterHarness
from tests.support.router.worker_messages import SURE, UNSURE

PROBE = PromptProbe(fingerprint="f", layer=2, has_second=True, bias=1.0, weights=[2.0, -1.0])
HARD, EASY = struct.pack("<2f", -1.0, 1.0), struct.pack("<2f", 1.0, 0.0)
THRESHOLD = 0.4


def with_gate(**settings: Any) -> RouterHarness:
    router = RouterHarness(prompt_probe=PROBE, gate="prompt", prompt_threshold=THRESHOLD, fingerprint="f", **settings)
    router.connect("w1", fingerprint="f", num_layers=4)
    return router


def begin(router: RouterHarness, state: bytes, *, entropy: float = SURE, finish: Finish | None = None) -> None:
    """The worker reports the first token, with the state of the prompt."""
    extras = SequenceExtras(prompt_states=dict.fromkeys(router.running(1)[1].tapped_layers, state))
    router.generate(1, "a", entropy=entropy, finish=finish, extras=extras)


def test_a_hard_prompt_is_handed_off_and_its_local_run_stops() -> None:
    router = with_gate()
    cloud = router.connect("cloud", kind="cloud", num_slots=1, model="big")
    submit(router)
    assert router.running(1)[1].tapped_layers == [2]
    begin(router, HARD)
    assert not router.is_running(1)
    assert cloud_dispatch(router).request is not None
    router.generate(1, "from the cloud", kind="cloud", finish=CLOUD_STOP)
    result = router.result(1)
    handoff = result.handoff
    assert (result.text, result.cloud_handoff, handoff.status, handoff.reason) == (
        "from the cloud",
        True,
        "completed",
        "prompt",
    )
    assert (handoff.signal, handoff.threshold, handoff.confidence) == ("prompt", THRESHOLD, PROBE(HARD))
    assert isinstance(handoff.local_measures, Measures)
    assert handoff.local_measures.prompt == PROBE(HARD)
    totals = router.core.status(router.now, with_totals=True).totals
    assert totals is not None
    assert {gate: count for gate, count in totals.failed_gates.items() if count} == {"prompt": 1}
    assert cloud.dispatches == {}


def test_the_local_run_continues_after_its_first_token_if_the_cloud_fails() -> None:
    router = with_gate()
    cloud = router.connect("cloud", kind="cloud", num_slots=1, model="big")
    submit(router)
    router.subscribe(1)
    begin(router, HARD)
    fail_cloud(router, cloud)
    dispatch = router.running(1)[1]
    assert (dispatch.emitted_ids, dispatch.tapped_layers) == ([ord("a")], [])
    router.generate(1, "bc", entropy=UNSURE, finish=STOP)
    assert router.streamed_text(1) == router.result(1).text == "abc"
    handoff = router.result(1).handoff
    assert (handoff.status, handoff.signal, handoff.confidence) == ("failed", "prompt", PROBE(HARD))


def test_an_answer_of_one_token_is_the_fallback_of_its_prompt() -> None:
    router = with_gate()
    cloud = router.connect("cloud", kind="cloud", num_slots=1, model="big")
    submit(router)
    begin(router, HARD, finish=STOP)
    assert router.finished(1) == []
    fail_cloud(router, cloud)
    assert (router.result(1).text, router.result(1).attempts) == ("a", 1)


def test_an_easy_prompt_passes_on_to_the_gates_of_its_answer() -> None:
    router = with_gate()
    router.connect("cloud", kind="cloud", num_slots=1, model="big")
    submit(router)
    begin(router, EASY)
    assert not router.is_running(1, "cloud")
    router.generate(1, "b" * 9, entropy=UNSURE)
    assert router.is_running(1, "cloud")
    assert router.is_running(1), "the local run goes on, as it does for any gate on the answer"
    router.generate(1, "x", kind="cloud", finish=CLOUD_STOP)
    assert (router.result(1).handoff.reason, router.result(1).handoff.signal) == ("rolling window", "entropy")


@pytest.mark.parametrize(
    "options", [{}, {"max_entropy": 0.5}, {"cloud_handoff_threshold": 0.5, "allow_cloud": False}], ids=str
)
def test_other_jobs_are_not_handed_off_by_their_prompt(options: dict[str, Any]) -> None:
    router = with_gate()
    cloud = router.connect("cloud", kind="cloud", num_slots=1, model="big")
    router.submit(1, **options)
    begin(router, HARD)
    router.generate(1, "b", finish=STOP)
    assert cloud.num_accepted == 0
    expected = ("suppressed", "prompt") if "allow_cloud" in options else ("none", "entropy")
    assert (router.result(1).handoff.status, router.result(1).handoff.signal) == expected


def test_without_the_gate_nothing_is_tapped() -> None:
    router = RouterHarness(fingerprint="f")
    router.connect("w1", fingerprint="f", num_layers=4)
    submit(router)
    assert router.running(1)[1].tapped_layers == []
    begin(router, HARD, finish=STOP)
    assert router.result(1).handoff == Handoff(threshold=0.5)


def test_a_job_that_is_run_again_before_its_first_token_is_judged_by_its_prompt() -> None:
    router = with_gate()
    router.connect("cloud", kind="cloud", num_slots=1, model="big")
    submit(router)
    router.lose(router.running(1)[0])
    router.connect("w2", fingerprint="f", num_layers=4)
    assert router.running(1)[1].tapped_layers == [2]
    begin(router, HARD)
    assert router.is_running(1, "cloud")


def test_the_share_counts_jobs_that_their_prompt_hands_off() -> None:
    router = with_gate(max_handoff_share=0.0)
    router.connect("cloud", kind="cloud", num_slots=20, model="big")
    for number in range(1, 13):
        submit(router, number)
        extras = SequenceExtras(prompt_states={2: HARD})
        router.generate(number, "a", extras=extras)
        kind = "cloud" if router.is_running(number, "cloud") else "local"
        router.generate(number, "b", kind=kind, finish=CLOUD_STOP)
    reasons = [(router.result(number).handoff.status, router.result(number).handoff.signal) for number in range(1, 13)]
    assert reasons == [("completed", "prompt")] * 10 + [("suppressed", "prompt")] * 2


def test_inputs_of_the_gates_have_the_states_from_which_a_probe_is_fitted() -> None:
    router = with_gate()
    router.submit(1, gate_inputs=True)
    assert router.running(1)[1].tapped_layers == candidate_layers(4) == [1, 2, 3]
    begin(router, EASY, finish=STOP)
    measures = router.result(1).measures
    assert measures is not None
    assert measures.prompt == PROBE(EASY)
    inputs = measures.gate_inputs
    assert isinstance(inputs, GateInputs)
    assert inputs.prompt_states == dict.fromkeys((1, 2, 3), EASY)
    assert (inputs.prompt_threshold, inputs.fingerprint) == (THRESHOLD, "f")
