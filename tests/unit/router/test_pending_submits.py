"""A job between its arrival and the end of its preparation."""

from __future__ import annotations

from typing import Any

import pytest

from cactus_actors.config import RouterSettings
from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.messages import Accepted, Cancel, Fetch, Finished, Pending, Rejected, Resume, Submit
from cactus_actors.protocol.wire import decode_submit
from cactus_actors.router.core import RouterCore
from cactus_actors.router.effects import Effect, PrepareRequest, SendClient
from cactus_actors.router.lifecycle.client_messages import MAX_DEFERRED
from cactus_actors.router.preparation.prepare_request import prepare
from cactus_actors.router.state.caller import ANONYMOUS, RevokedKey
from cactus_actors.router.state.job import MAX_ATTACHED
from cactus_actors.router.state.service_facts import ServiceFacts
from tests.support.router.core_harness import job_id
from tests.support.router.letter_model import LetterModel


class SlowRouter:
    """A core whose requests are prepared when the test requests it."""

    def __init__(self, **settings: Any) -> None:
        self.core = RouterCore(RouterSettings(**settings), ServiceFacts(epoch=7, started_at=0.0))
        self.waiting: list[PrepareRequest] = []
        self.replies: list[tuple[bytes, Any]] = []

    def hear(self, message: Any, identity: bytes = b"client") -> None:
        self._take(self.core.on_client(identity, message, "m", 0.0))

    def prepare_next(self, outcome: Any = None) -> None:
        request = self.waiting.pop(0)
        outcome = outcome or prepare(decode_submit(request.content), LetterModel())
        self._take(self.core.on_prepared(request.job_id, outcome, 1.0))

    def revoke(self, *clients: bytes, is_last: bool) -> None:
        self._take(self.core.on_revoked(RevokedKey(ANONYMOUS, is_last, frozenset(clients), frozenset()), 1.0))

    def stop(self) -> None:
        self._take(self.core.on_stop(1.0))

    def _take(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, PrepareRequest):
                self.waiting.append(effect)
            elif isinstance(effect, SendClient):
                self.replies.append((effect.identity, effect.message))


@pytest.fixture
def router() -> SlowRouter:
    return SlowRouter()


def submit(number: int, prompt: str = "hello") -> Submit:
    return Submit(job_id=job_id(number), prompt=prompt)


def test_a_submission_is_answered_after_its_preparation(router: SlowRouter) -> None:
    router.hear(submit(1))
    assert router.replies == []
    assert router.core.status(0.0).jobs.accepted == 0
    router.prepare_next()
    [(_, accepted)] = router.replies
    assert isinstance(accepted, Accepted)


def test_a_job_submitted_twice_is_prepared_once_and_answered_to_both(router: SlowRouter) -> None:
    router.hear(submit(1), b"one")
    router.hear(submit(1), b"two")
    router.hear(submit(1, "another"), b"three")
    assert len(router.waiting) == 1
    router.prepare_next()
    kinds = {identity: type(reply) for identity, reply in router.replies}
    assert kinds == {b"one": Accepted, b"two": Accepted, b"three": Rejected}


def test_a_failed_preparation_refuses_all_its_submissions(router: SlowRouter) -> None:
    router.hear(submit(1), b"one")
    router.hear(submit(1), b"two")
    router.prepare_next(InvalidRequest("no", param="prompt"))
    assert [(identity, reply.error.param) for identity, reply in router.replies] == [
        (b"one", "prompt"),
        (b"two", "prompt"),
    ]
    assert router.core.status(0.0).jobs.rejected == 1
    router.hear(submit(1))  # and is forgotten
    assert len(router.waiting) == 1


def test_too_many_requests_about_a_job_in_preparation_are_refused(router: SlowRouter) -> None:
    router.hear(submit(1))
    for _ in range(MAX_DEFERRED):
        router.hear(Fetch(job_id=job_id(1), wait=False))
    assert router.replies == []
    router.hear(Fetch(job_id=job_id(1), wait=False))
    [(_, refused)] = router.replies
    assert (refused.error.type, refused.job_id) == ("rate_limit_error", job_id(1))
    router.prepare_next()
    assert len(router.replies) == 2 + MAX_DEFERRED  # with the Accepted


def test_only_the_last_of_many_repeated_submissions_are_answered(router: SlowRouter) -> None:
    for number in range(MAX_ATTACHED + 1):
        router.hear(submit(1), b"%d" % number)
    router.prepare_next()
    assert [identity for identity, _ in router.replies] == [b"%d" % n for n in range(1, MAX_ATTACHED + 1)]


def test_requests_about_a_job_in_preparation_are_answered_after_it(router: SlowRouter) -> None:
    router.hear(submit(1))
    router.hear(Fetch(job_id=job_id(1), wait=False))
    router.hear(Resume(job_id=job_id(1)))
    router.hear(Cancel(job_id=job_id(1)))
    assert router.replies == []
    router.prepare_next()
    kinds = [type(reply).__name__ for _, reply in router.replies]
    assert kinds == ["Accepted", "Pending", "Replay", "Finished", "Pending"]
    assert router.replies[-1][1].state == "cancelled"


def test_requests_about_a_refused_job_are_answered_with_not_found(router: SlowRouter) -> None:
    router.hear(submit(1))
    router.hear(Cancel(job_id=job_id(1)), b"other")
    router.prepare_next(InvalidRequest("no"))
    assert [(identity, reply.error.status) for identity, reply in router.replies] == [
        (b"client", 400),
        (b"other", 404),
    ]


def test_jobs_in_preparation_count_towards_the_full_queue() -> None:
    router = SlowRouter(max_queued_jobs=3)
    for number in range(1, 5):
        router.hear(submit(number))
    assert len(router.waiting) == 3
    [(_, rejected)] = router.replies
    assert rejected.error.status == 429


def test_a_stop_refuses_requests_in_preparation(router: SlowRouter) -> None:
    router.hear(submit(1))
    router.stop()
    [(_, rejected)] = router.replies
    assert rejected.error.status == 503


def test_a_router_with_requests_in_preparation_is_not_drained(router: SlowRouter) -> None:
    router.hear(submit(1))
    router.core.close_admission()
    assert not router.core.is_drained
    router.prepare_next(InvalidRequest("no"))
    assert router.core.is_drained


def test_a_cancel_during_preparation_is_answered_with_finished_or_pending(router: SlowRouter) -> None:
    router.hear(submit(1))
    router.prepare_next()
    router.hear(Cancel(job_id=job_id(1)))
    assert [type(reply) for _, reply in router.replies[1:]] == [Finished, Pending]


def test_a_waiting_client_with_a_revoked_key_is_refused_and_others_get_the_job(router: SlowRouter) -> None:
    router.hear(submit(1), b"revoked")
    router.hear(submit(1), b"kept")
    router.hear(Fetch(job_id=job_id(1)), b"revoked")
    router.revoke(b"revoked", is_last=False)
    [(asker, refused)] = router.replies
    assert (asker, refused.job_id, refused.error.type) == (b"revoked", job_id(1), "authentication_error")
    router.prepare_next()
    assert [(asker, type(reply)) for asker, reply in router.replies[1:]] == [(b"kept", Accepted)]
    router.hear(Cancel(job_id=job_id(1)), b"kept")
    assert {asker for asker, _ in router.replies[1:]} == {b"kept"}


def test_jobs_of_a_tenant_without_keys_do_not_run(router: SlowRouter) -> None:
    router.hear(submit(1), b"revoked")
    router.revoke(b"revoked", is_last=True)
    router.prepare_next()
    jobs = router.core.status(1.0).jobs
    assert (jobs.accepted, jobs.rejected) == (0, 1)
    assert len(router.replies) == 1


def test_requests_in_preparation_count_towards_the_byte_limit() -> None:
    router = SlowRouter(max_queued_bytes=12_000)
    for number in range(1, 4):
        router.hear(submit(number, "x" * 2000))
    [(_, rejected)] = router.replies
    assert isinstance(rejected, Rejected)
    assert (rejected.job_id, rejected.error.status) == (job_id(3), 429)
    assert len(router.waiting) == 2


def test_every_end_of_a_preparation_releases_its_share_of_the_limit() -> None:
    router = SlowRouter(max_queued_jobs=2)
    for number in range(1, 20):
        router.hear(submit(number))
        assert len(router.waiting) == 1
        router.prepare_next(InvalidRequest("no"))
    assert len(router.replies) == 19
