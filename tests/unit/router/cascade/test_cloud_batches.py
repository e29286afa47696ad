"""Batches of the cloud: the questions that jobs become, and messages between clients and the cloud worker."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from cactus_actors.protocol.cloud_batches import BatchQuestion
from cactus_actors.protocol.cloud_question import CloudQuestion
from cactus_actors.protocol.key_grants import KeyGrants
from cactus_actors.protocol.messages import AskCloudBatch, ChatMessage, CloudBatch, Finished, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.results import NOT_ALLOWED, Result, Source
from cactus_actors.protocol.worker_messages import AskBatch, BatchReply
from cactus_actors.router.state.caller import Caller
from tests.support.router.core_harness import RouterHarness, error_of, job_id
from tests.support.router.memory_journal import Disk
from tests.support.router.worker_messages import Worker

MARK = "0" * 31 + "1"
ASK = AskCloudBatch(mark=MARK, created=1.0, request_id="r")
ALICE = Caller(name="alice", role="client", tenant="alice", max_topics=8)
WITHOUT_CLOUD = Caller(name="bob", role="client", tenant="bob", max_topics=8, grants=KeyGrants(allow_cloud=False))


def question(router: RouterHarness, caller: Caller = ALICE, **fields: Any) -> Result:
    fields = {"prompt": "hello", **fields} if "messages" not in fields else fields
    options = Options(**{"seed": 3, "cloud_handoff_threshold": 0.5, **fields.pop("options", {})})
    [finished] = router.client(
        Submit(job_id=job_id(1), task="cloud_question", options=options, **fields), caller=caller
    )
    assert isinstance(finished, Finished)
    return finished.result


def test_a_question_needs_no_worker_and_leaves_no_record() -> None:
    disk = Disk()
    router = RouterHarness(disk=disk)
    for _ in range(2):
        result = question(router, options={"max_tokens": 7, "temperature": 0.5, "stop": "x"})
        assert result.cloud_question == CloudQuestion(
            messages=[{"role": "user", "content": "hello"}],
            max_tokens=7,
            temperature=0.5,
            top_p=0.95,
            seed=3,
            stop=["x"],
        )
    assert result.usage.prompt_tokens == 1 + len("hello")
    assert (router.core.num_unfinished, disk.waiting, router.reports) == (0, [], [])


def test_a_question_has_the_documents_of_the_service() -> None:
    router = RouterHarness(find=lambda _: [Source(source="a.txt", content="Ann is mayor.", score=1.0)])
    result = question(router, messages=[ChatMessage(role="user", content="Who?")])
    assert result.cloud_question is not UNSET
    system, user = result.cloud_question.messages
    assert "Ann is mayor." in system["content"]
    assert user["content"] == "Who?"


@pytest.mark.parametrize(
    ("caller", "options", "reason"),
    [
        (ALICE, {"allow_cloud": False}, NOT_ALLOWED),
        (ALICE, {"regex": "a+"}, "a cloud does not enforce regex"),
        (WITHOUT_CLOUD, {}, "the key does not allow the cloud"),
    ],
    ids=["job", "form", "key"],
)
def test_a_job_that_may_not_leave_the_machine_has_no_question(
    caller: Caller, options: dict[str, Any], reason: str
) -> None:
    result = question(RouterHarness(), caller, options=options)
    assert result.cloud_question is UNSET
    assert (result.handoff.status, result.handoff.reason) == ("suppressed", reason)


def test_a_batch_is_asked_for_its_tenant_and_the_reply_goes_to_the_client(router: RouterHarness, cloud: Worker) -> None:
    body = question(router).cloud_question
    assert body is not UNSET
    ask = AskCloudBatch(mark=MARK, created=1.0, request_id="r", questions=[BatchQuestion(0, body, 5, 2)])
    assert router.client(ask, b"one", ALICE) == []
    assert router.client(ask, b"two", ALICE) == []
    first, second = cloud.batches
    assert first == AskBatch(1, "alice", ask)
    router.say(cloud, BatchReply(second.number, CloudBatch(mark=MARK, state="running", batch_id="b")))
    router.say(cloud, BatchReply(second.number, CloudBatch(mark=MARK, state="ended")))
    assert router.replies[-1] == (b"two", CloudBatch(mark=MARK, state="running", batch_id="b", request_id="r"))


def test_a_batch_is_refused_without_a_cloud_worker(router: RouterHarness) -> None:
    [reply] = router.client(ASK)
    assert (reply.state, reply.reason, reply.request_id) == ("refused", "no cloud worker is connected", "r")
    assert reply.is_temporary


def test_without_a_key_the_refusal_says_so() -> None:
    [reply] = RouterHarness(has_cloud=False).client(ASK)
    assert (reply.state, reply.reason, reply.is_temporary) == ("refused", "no key", False)


def test_a_key_without_the_cloud_gets_no_batch(router: RouterHarness, cloud: Worker) -> None:
    [reply] = router.client(ASK, caller=WITHOUT_CLOUD)
    assert (error_of(reply).type, reply.request_id) == ("permission_error", "r")
    assert cloud.batches == []


def test_a_mark_has_the_form_of_a_job_id(router: RouterHarness, cloud: Worker) -> None:
    [reply] = router.client(AskCloudBatch(mark="x", created=1.0))
    assert error_of(reply).param == "mark"
    assert cloud.batches == []
