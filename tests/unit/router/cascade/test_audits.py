"""Answers that stayed and are audited: which ones, after the client's answer, and the thresholds that follow."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from cactus_actors.cli.status_page import facts_of
from cactus_actors.config_models import CascadeSettings, CascadeTier
from cactus_actors.gateway.metrics.service_metrics import families_of
from cactus_actors.protocol.key_grants import KeyGrants
from cactus_actors.protocol.messages import Finished, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.totals import AuditCounts, AuditTotals, CloudSpending
from cactus_actors.protocol.worker_messages import Audit, Dispatch, Finish, SecondAnswer
from cactus_actors.router.effects import SendClient, SendWorker
from cactus_actors.router.state.caller import Caller
from cactus_actors.router.state.served_model import ServedModel
from tests.support.router.cloud_jobs import STOP, THRESHOLD, submit
from tests.support.router.core_harness import CLIENT, RouterHarness, job_id
from tests.support.router.memory_journal import Disk
from tests.support.router.walk import walk
from tests.support.router.worker_messages import SURE, UNSURE, Worker, make_delta

SPENT = CloudSpending(period="all", requests=3, tokens=40, cost=0.5, currency="EUR")


def audited(share: float = 1.0, **settings: Any) -> tuple[RouterHarness, Worker]:
    router = RouterHarness(audit_share=share, **settings)
    router.connect("w1")
    return router, router.connect("cloud", kind="cloud", model="big")


def answer(router: RouterHarness, number: int = 1, text: str = "yes", finish: Finish = STOP, **options: Any) -> None:
    submit(router, number, **options)
    router.generate(number, text, finish=finish)


def test_an_answer_that_stayed_is_audited_after_its_client_has_it() -> None:
    router, cloud = audited()
    answer(router, group="capitals")
    [audit] = cloud.audits
    assert router.result(1).text == "yes"
    assert isinstance(audit, Audit)
    assert (audit.text, audit.request.prompt, audit.threshold, audit.step) == ("yes", "question", THRESHOLD, 0)
    assert audit.signal == pytest.approx(1 - SURE)
    assert audit.group == "capitals"
    assert cloud.dispatches == {}
    assert router.result(1).handoff.status == "none"


def test_the_client_is_answered_before_the_audit_is_sent() -> None:
    router, _ = audited()
    submit(router)
    worker, dispatch = router.running(1)
    report = worker.report(make_delta(dispatch.dispatch_id, 0, "yes", finish=STOP))
    effects = router.core.on_worker(worker.identity, report, router.now)
    sent = [type(effect.message) for effect in effects if isinstance(effect, SendClient | SendWorker)]
    assert sent[-1] is Audit
    assert Finished in sent[:-1]


def test_about_the_share_is_audited_and_the_same_ones_for_a_seed() -> None:
    texts = []
    for _ in range(2):
        router, cloud = audited(0.1)
        for number in range(1, 501):
            answer(router, number, chr(ord("a") + number % 26))
        texts.append([audit.text for audit in cloud.audits])
    assert 30 <= len(texts[0]) <= 75
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    "options",
    [
        {"cloud_handoff_threshold": 0.0},
        {"allow_cloud": False},
        {"logprobs": True},
        {"max_entropy": 0.25},  # by another signal than the service's
        {"finish": Finish("length")},
    ],
    ids=str,
)
def test_answers_that_could_not_be_handed_off_or_are_not_whole_are_not_audited(options: dict[str, Any]) -> None:
    router, cloud = audited()
    finish = options.pop("finish", STOP)
    router.submit(1, "question", **{"cloud_handoff_threshold": THRESHOLD, **options})
    router.generate(1, "yes", finish=finish)
    assert router.result(1).text == "yes"
    assert cloud.audits == []
    answer(router, 2)
    assert len(cloud.audits) == 1


def test_a_key_without_the_cloud_is_never_audited() -> None:
    router, cloud = audited()
    for number, allow_cloud in ((1, False), (2, True)):
        caller = Caller(
            name="k", role="client", tenant=f"t{number}", max_topics=8, grants=KeyGrants(allow_cloud=allow_cloud)
        )
        options = Options(cloud_handoff_threshold=THRESHOLD)
        router.client(Submit(job_id=job_id(number), prompt="question", options=options), CLIENT, caller)
        router.generate(number, "yes", finish=STOP)
    [audit] = cloud.audits
    assert audit.tenant == "t2"


def test_a_job_that_failed_a_gate_or_was_cancelled_is_not_audited() -> None:
    router, cloud = audited(max_handoff_share=0.0)
    submit(router, 1)
    for _ in range(10):
        router.generate(1, "a", entropy=SURE)
    for _ in range(10):
        router.generate(1, "b", entropy=UNSURE)
    router.generate(1, "c", finish=STOP)
    assert router.result(1).handoff.status == "recommended"
    assert cloud.audits == []


@pytest.mark.parametrize("unavailable", ["no key", "breaker open"])
def test_a_cloud_that_takes_no_jobs_gets_no_audits(unavailable: str) -> None:
    router, cloud = audited()
    router.report(cloud, unavailable=unavailable)
    answer(router)
    assert router.result(1).text == "yes"
    assert cloud.audits == []


def test_without_a_share_nothing_is_audited() -> None:
    router, cloud = audited(0.0)
    answer(router)
    assert cloud.audits == []


def test_new_jobs_follow_the_threshold_that_audits_require() -> None:
    router, cloud = audited()
    submit(router, 1)
    report = msgspec.structs.replace(cloud.report(), audits=AuditTotals(step=2, min_threshold=0.95, drifts=2))
    router.say(cloud, report)
    router.say(cloud, cloud.report())  # nothing is new
    router.generate(1, "yes", finish=STOP)
    assert router.result(1).handoff.threshold == THRESHOLD
    [audit] = cloud.audits
    assert (audit.step, audit.threshold) == (0, THRESHOLD)

    submit(router, 2)
    router.generate(2, "a", entropy=SURE)  # 0.9, above its own threshold
    assert router.is_running(2, "cloud")
    router.submit(3, "question")
    router.generate(3, "yes", entropy=UNSURE, finish=STOP)  # never handed off, and still not
    assert router.result(3).handoff.status == "none"


CASCADE = CascadeSettings(
    tiers=[
        CascadeTier(model="small", threshold=0.5),
        CascadeTier(model="large", threshold=0.25),
        CascadeTier(model="cloud"),
    ]
)


def cascade_of_two(cascade: CascadeSettings = CASCADE) -> tuple[RouterHarness, Worker]:
    router = RouterHarness(
        audit_share=1.0, models=(ServedModel(name="small"), ServedModel(name="large")), cascade=cascade
    )
    for name in ("small", "large"):
        router.connect(f"{name}-1", served_as=name)
    return router, router.connect("cloud", kind="cloud", model="big")


def ask_cascade(router: RouterHarness, number: int, *entropies: float, **options: Any) -> None:
    """A job whose answers by its models have these entropies."""
    given = Options(seed=3, **options)
    router.client(Submit(job_id=job_id(number), prompt="question", model="cascade", options=given))
    for place, entropy in enumerate(entropies):
        is_last = place == len(entropies) - 1
        router.generate(number, "abc"[place], entropy=entropy, finish=STOP if is_last else None)


def test_each_model_of_a_cascade_is_audited_by_its_name_and_threshold() -> None:
    router, cloud = cascade_of_two()
    ask_cascade(router, 1, SURE)
    ask_cascade(router, 2, UNSURE, SURE)
    ask_cascade(router, 3, UNSURE, SURE, allow_cloud=False)
    submit(router, 4)
    router.generate(4, "d", finish=STOP)
    told = [(audit.tier, audit.text, audit.threshold, audit.step) for audit in cloud.audits]
    assert told == [("small", "a", 0.5, 0), ("large", "b", 0.25, 0), ("", "d", THRESHOLD, 0)]
    assert all(audit.request.prompt == "question" for audit in cloud.audits)


LOCAL = CascadeSettings(tiers=[CascadeTier(model="small", threshold=0.5), CascadeTier(model="large")])


def asked_for_an_audit(router: RouterHarness) -> tuple[Worker, Dispatch]:
    """The one dispatch of the last model."""
    [worker] = [worker for worker in router.workers.values() if worker.hello.served_as == "large"]
    [dispatch] = worker.dispatches.values()
    return worker, dispatch


def test_a_cascade_without_a_cloud_is_audited_by_its_last_model() -> None:
    router, cloud = cascade_of_two(LOCAL)
    router.report(cloud, unavailable="no key")
    ask_cascade(router, 1, SURE, allow_cloud=False)
    assert router.result(1).text == "a"
    worker, dispatch = asked_for_an_audit(router)
    assert dispatch.prompt_ids[1:] == [ord(letter) for letter in "question"]
    assert dispatch.params.seed == 3
    walk(router.core, router.now)
    num_sent = len(router.published)
    router.say(worker, worker.report(make_delta(dispatch.dispatch_id, 0, "A", finish=STOP)))
    [audit] = cloud.audits
    assert (audit.tier, audit.text, audit.second) == ("small", "a", SecondAnswer("A", [], "large"))
    assert len(router.published) == num_sent  # nobody is shown the second answer
    status = router.core.status(router.now)
    assert (status.jobs.running, status.jobs.queued, status.held.live_jobs) == (0, 0, 0)
    ask_cascade(router, 2, UNSURE, SURE)  # what the last model answers stays, and is not audited
    assert router.result(2).text == "b"
    assert len(cloud.audits) == 1
    walk(router.core, router.now)


def test_an_audit_that_the_last_model_does_not_answer_is_left_undone() -> None:
    disk = Disk()
    router = RouterHarness(
        audit_share=1.0, models=(ServedModel(name="small"), ServedModel(name="large")), cascade=LOCAL, disk=disk
    )
    router.connect("small-1", served_as="small")
    cloud = router.connect("cloud", kind="cloud", model="big")

    def stays(number: int) -> None:
        router.client(Submit(job_id=job_id(number), prompt="question", model="cascade", options=Options(seed=3)))
        router.write_to_disk()
        router.generate(number, "a", finish=STOP)
        router.write_to_disk()

    stays(1)  # without a worker of the last model
    router.connect("large-1", served_as="large", num_slots=1)
    for number in range(2, 40):
        stays(number)
    assert router.core.state.fleets.named("large").dispatcher.num_waiting == 15  # and one runs
    worker, dispatch = asked_for_an_audit(router)
    router.say(worker, worker.report(make_delta(dispatch.dispatch_id, 0, "A", finish=Finish("length"))))
    assert cloud.audits == []
    router.pass_time(700.0)
    assert router.core.state.jobs.live == {}
    assert cloud.audits == []
    stays(40)
    worker, dispatch = asked_for_an_audit(router)
    router.say(worker, worker.report(make_delta(dispatch.dispatch_id, 0, "A", finish=STOP)))
    assert len(cloud.audits) == 1
    router.write_to_disk()
    again = RouterHarness(
        models=(ServedModel(name="small"), ServedModel(name="large")), cascade=LOCAL, disk=disk
    )  # whose journal knows nothing of audits
    assert again.core.state.jobs.live == {}
    assert again.core.status(again.now).jobs.accepted == 1  # job 40; the others are forgotten


def test_audits_tighten_the_threshold_of_their_model_alone() -> None:
    router, cloud = cascade_of_two()
    report = cloud.report()
    totals = AuditTotals(tiers={"small": AuditCounts(min_threshold=0.95, step=1), "large": AuditCounts()})
    router.say(cloud, msgspec.structs.replace(report, audits=totals))
    ask_cascade(router, 1, SURE, SURE)  # 0.9, below what audits of `small` require
    result = router.result(1)
    assert isinstance(result.handoff.path, list)
    assert [(tier.model, tier.threshold) for tier in result.handoff.path] == [("small", 0.95), ("large", 0.25)]
    ask_cascade(router, 2, 0.0)
    assert [(audit.tier, audit.threshold, audit.step) for audit in cloud.audits] == [
        ("large", 0.25, 0),
        ("small", 0.95, 1),
    ]


def test_status_and_metrics_name_the_models_of_a_cascade() -> None:
    router, cloud = cascade_of_two()
    small = AuditCounts(outcomes={"right": 4}, monitored=4, step=1, min_threshold=0.95)
    totals = AuditTotals(outcomes={"right": 7}, tiers={"small": small}, spent=[SPENT])
    router.say(cloud, msgspec.structs.replace(cloud.report(), audits=totals))
    status = router.core.status(router.now)
    facts = [fact for _, fact in facts_of(status)]
    place = facts.index("small: 4 right, 0 to be judged (cactus audit)")
    assert facts[place + 2] == "drift: tightened 1 time, the threshold of small is at least 0.95"
    told = {
        (sample.name, sample.labels["tier"]): sample.value
        for family in families_of(status)
        for sample in family.samples
        if "tier" in sample.labels
    }
    assert told["cactus_audits_total", ""] == 7
    assert told["cactus_audits_total", "small"] == 4
    assert told["cactus_audit_min_threshold", "small"] == 0.95
    assert told["cactus_audit_min_threshold", ""] == 0.0


def test_status_and_metrics_have_the_audits() -> None:
    router, cloud = audited()
    totals = AuditTotals(
        outcomes={"right": 40, "wrong": 9, "failed": 2, "skipped": 1},
        unjudged=3,
        monitored=49,
        monitored_wrong=9,
        evidence=25.5,
        has_drifted=True,
        drifts=1,
        step=1,
        min_threshold=0.75,
        spent=[SPENT],
    )
    router.say(cloud, msgspec.structs.replace(cloud.report(), audits=totals))
    status = router.core.status(router.now)
    facts = list(facts_of(status))
    place = [label for label, _ in facts].index("audits")
    assert [fact for _, fact in facts[place : place + 3]] == [
        "40 right, 9 wrong, 2 failed, 1 skipped, 3 to be judged (cactus audit)",
        "drift: more answers that stay are wrong than the bound allows (9 wrong of 49 at this threshold); "
        "calibrate again",
        "drift: tightened 1 time, thresholds are at least 0.75",
    ]
    samples = [sample for family in families_of(status) for sample in family.samples if "audit" in sample.name]
    told = {sample.labels.get("outcome", sample.name.removeprefix("cactus_")): sample.value for sample in samples}
    assert told == {
        "right": 40,
        "wrong": 9,
        "failed": 2,
        "skipped": 1,
        "audits_unjudged": 3,
        "audits_monitored": 49,
        "audits_monitored_wrong": 9,
        "audit_evidence": 25.5,
        "audit_drift": 1,
        "audit_steps": 1,
        "audit_min_threshold": 0.75,
        "audit_drifts_total": 1,
        "audit_spent_requests": 3,
        "audit_spent_tokens": 40,
        "audit_spent_cost": 0.5,
    }
