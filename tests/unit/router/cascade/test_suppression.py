"""Jobs that stay local: no provider, a private job, a key without the cloud, a full cloud, the share."""

from __future__ import annotations

import pytest

from cactus_actors.protocol.errors import HandoffFailed
from cactus_actors.protocol.key_grants import KeyGrants
from cactus_actors.protocol.messages import Fetch, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.worker_messages import Finish
from cactus_actors.router.cascade.cloud_share import BURST
from cactus_actors.router.cascade.confidence_gates import NO_KEY
from cactus_actors.router.state.caller import Caller
from tests.support.router.cloud_jobs import CLOUD_STOP, STOP, THRESHOLD, cloud_dispatch, submit
from tests.support.router.core_harness import RouterHarness, job_id
from tests.support.router.memory_journal import Disk
from tests.support.router.worker_messages import UNSURE, Worker, make_delta


@pytest.mark.parametrize("reason", [NO_KEY, None])
def test_without_a_provider_the_local_answer_is_returned(router: RouterHarness, reason: str | None) -> None:
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


def test_a_private_job_is_never_handed_off(router: RouterHarness, cloud: Worker) -> None:
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
def test_jobs_of_a_key_without_the_cloud_are_never_handed_off(
    caller: Caller, account: str, accounts: dict[str, KeyGrants], is_restarted: bool
) -> None:
    """This holds for any request, at every gate, and in the next router with any keys."""
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
    assert router.is_running(9, "cloud")  # jobs of other keys go


@pytest.mark.parametrize("reason", ["circuit breaker open", "budget spent"])
def test_an_unavailable_cloud_suppresses_the_handoff(router: RouterHarness, cloud: Worker, reason: str) -> None:
    router.report(cloud, unavailable=reason)
    submit(router)
    router.generate(1, "ab", entropy=UNSURE, finish=STOP)
    result = router.result(1)
    assert (result.handoff.status, result.handoff.reason, result.text) == ("suppressed", reason, "ab")


def test_jobs_wait_for_a_cloud_slot(router: RouterHarness, cloud: Worker) -> None:
    submit(router, 1)
    submit(router, 2)
    router.generate(1, "a", entropy=UNSURE, finish=STOP)
    router.generate(2, "b", entropy=UNSURE, finish=STOP)
    assert not router.is_running(2, "cloud")
    router.generate(1, "one", kind="cloud", finish=CLOUD_STOP)
    router.generate(2, "two", kind="cloud", finish=CLOUD_STOP)
    assert (router.result(1).text, router.result(2).text) == ("one", "two")


def test_the_wait_for_a_cloud_slot_is_bounded(router: RouterHarness, cloud: Worker) -> None:
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
def test_at_most_the_configured_share_of_jobs_is_handed_off(share: float) -> None:
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


def test_handoffs_refused_by_a_budget_do_not_count_towards_the_share(cloud: Worker) -> None:
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


def test_the_cloud_dispatch_names_the_tenant_of_the_budget(router: RouterHarness, cloud: Worker) -> None:
    options = Options(cloud_handoff_threshold=THRESHOLD)
    caller = Caller("ann", "client", "ann", 64)
    router.client(Submit(job_id=job_id(1), prompt="question", options=options), caller=caller)
    router.generate(1, "a", entropy=UNSURE)
    dispatch = cloud_dispatch(router)
    assert (dispatch.tenant, dispatch.num_prompt_tokens) == ("ann", 9)
