"""Tenants see nothing of each other. Every case over real sockets."""

from __future__ import annotations

import itertools
import time
from pathlib import Path
from typing import Any

import msgspec

from cactus_actors.keys.key_file import read_key_file
from cactus_actors.protocol.errors import JobConflict, JobNotFound
from cactus_actors.protocol.key_grants import KeyGrants
from cactus_actors.protocol.messages import Accepted, Cancel, Delta, Fetch, Finished, Pending, Rejected, Replay, Resume
from cactus_actors.protocol.tcp_keepalive import MAX_TOPICS
from cactus_actors.protocol.worker_messages import Finish, Report
from cactus_actors.router.auth.accepted_keys import RECHECK_S
from tests.support.router.core_harness import job_id
from tests.support.router.echo_worker import EchoWorker
from tests.support.router.scripted_router import until
from tests.support.router.secured_router import Generation, Peer, SecuredRouter, dispatched, secured_router, submit
from tests.support.router.worker_messages import UNSURE, make_delta, make_hello

STOP = Finish("stop")


def error_of(reply: Any) -> str:
    assert isinstance(reply, Rejected), reply
    return reply.error.type


def test_jobs_of_other_tenants_are_not_found(router: SecuredRouter) -> None:
    alice, bob = router.client(router.key("alice")), router.client(router.key("bob"))
    worker = router.worker(router.key("w", "worker"))
    assert isinstance(alice.ask(submit(1)), Accepted)
    generation = Generation(worker)
    unknown, foreign = job_id(99), job_id(1)
    for make in (
        lambda id_: Fetch(job_id=id_, wait=False),
        lambda id_: Fetch(job_id=id_),
        lambda id_: Resume(job_id=id_),
        lambda id_: Cancel(job_id=id_),
    ):
        about_foreign, about_unknown = bob.ask(make(foreign)), bob.ask(make(unknown))
        assert error_of(about_foreign) == error_of(about_unknown) == JobNotFound.type
        assert about_foreign.error.message == about_unknown.error.message.replace(unknown, foreign)
    generation.say("mine", Finish("stop"))
    assert alice.receive(Finished).result.text == "mine"
    assert bob.is_silent()

    assert error_of(bob.ask(Fetch(job_id=foreign, wait=False))) == JobNotFound.type
    assert error_of(bob.ask(Resume(job_id=foreign))) == JobNotFound.type
    assert error_of(bob.ask(submit(1))) == JobConflict.type  # the very same request is not attached either
    assert bob.is_silent()


def test_an_operator_sees_only_its_own_jobs(router: SecuredRouter) -> None:
    alice, operator = router.client(router.key("alice")), router.client(router.key("olga", "operator"))
    assert isinstance(alice.ask(submit(1)), Accepted)
    assert error_of(operator.ask(Fetch(job_id=job_id(1), wait=False))) == JobNotFound.type


def test_keys_of_one_tenant_share_its_jobs(router: SecuredRouter) -> None:
    one = router.client(router.key("laptop", tenant="team"))
    two = router.client(router.key("server", tenant="team"))
    assert isinstance(one.ask(submit(1)), Accepted)
    assert isinstance(two.ask(Fetch(job_id=job_id(1), wait=False)), Pending)
    assert isinstance(two.ask(Resume(job_id=job_id(1))), Replay)
    assert two.ask(Cancel(job_id=job_id(1))).state == "cancelled"


def test_jobs_keep_their_tenant_when_the_router_restarts(tmp_path: Path) -> None:
    journal = str(tmp_path / "journal")
    with secured_router(tmp_path, journal_dir=journal) as router:
        alice = router.client(router.key("alice"))
        bob_file, worker = router.key_file("bob"), router.worker(router.key("w", "worker"))
        for number, text in ((1, "one"), (2, "")):
            assert isinstance(alice.ask(submit(number)), Accepted)
            if text:
                Generation(worker).say(text, Finish("stop"))
                alice.receive(Finished)
    with secured_router(tmp_path, journal_dir=journal) as router:
        alice = router.client(read_key_file(router.store.path_of("alice")))
        bob = router.client(read_key_file(bob_file))
        for number in (1, 2):
            assert error_of(bob.ask(Fetch(job_id=job_id(number), wait=False))) == JobNotFound.type
        assert alice.ask(Fetch(job_id=job_id(1), wait=False)).result.text == "one"
        assert isinstance(alice.ask(Fetch(job_id=job_id(2), wait=False)), Finished | Pending)


def test_a_subscriber_gets_only_jobs_of_its_tenant(router: SecuredRouter) -> None:
    alice_key, bob_key = router.key("alice"), router.key("bob")
    worker, alice = router.worker(router.key("w", "worker")), router.client(alice_key)
    assert isinstance(alice.ask(submit(1)), Accepted)
    nosy = router.subscriber(bob_key, job_id(1), "", job_id(1)[:31], "0")
    until(lambda: router.refused().get("foreign_topic") == 1)
    listener = router.subscriber(alice_key, job_id(1))
    generation = Generation(worker)
    generation.reach(listener)
    generation.say("the end", Finish("stop"))
    assert listener.receive(Finished).result.text.endswith("the end")
    assert nosy.is_silent()


def test_a_subscriber_of_another_tenant_cannot_stop_a_stream(router: SecuredRouter) -> None:
    """Neither leaving nor unsubscribing stops it; ZeroMQ reports both as the end of a subscription."""
    alice_key, bob_key = router.key("alice"), router.key("bob")
    worker, alice = router.worker(router.key("w", "worker")), router.client(alice_key)
    assert isinstance(alice.ask(submit(1)), Accepted)
    listener = router.subscriber(alice_key, job_id(1))
    generation = Generation(worker)
    generation.reach(listener)
    leaves, unsubscribes = router.subscriber(bob_key, job_id(1)), router.subscriber(bob_key, job_id(1))
    until(lambda: router.refused().get("foreign_topic") == 2)
    leaves.socket.close()
    unsubscribes.socket.unsubscribe(job_id(1))
    topics = router.actor.core.state.topics
    topic = topics._topics[job_id(1)]
    until(lambda: (topic.num_ended, topic.refused.total()) == (1, 1))
    generation.reach(listener)
    listener.socket.close()
    until(lambda: not list(topics))


def test_a_job_id_with_a_subscriber_of_another_tenant_is_refused(router: SecuredRouter) -> None:
    """Clients that subscribe before there is a job would receive its tokens."""
    alice, bob_key = router.client(router.key("alice")), router.key("bob")
    nosy = router.subscriber(bob_key, job_id(1))
    topics = router.actor.core.state.topics
    until(lambda: job_id(1) in topics)
    assert error_of(alice.ask(submit(1))) == JobConflict.type
    nosy.socket.close()
    until(lambda: job_id(1) not in topics)
    assert isinstance(alice.ask(submit(1)), Accepted)


def test_the_number_of_subscriptions_of_a_key_is_limited(router: SecuredRouter) -> None:
    key, other_key = router.key("alice"), router.key("bob")
    worker, client = router.worker(router.key("w", "worker")), router.client(key)
    crowd = router.subscriber(key, *(job_id(1000 + number) for number in range(MAX_TOPICS)))
    topics = router.actor.core.state.topics
    until(lambda: len(list(topics)) == MAX_TOPICS)
    late = router.subscriber(key, job_id(1))
    until(lambda: router.refused().get("too_many_subscriptions") == 1)
    assert isinstance(client.ask(submit(1)), Accepted)
    generation = Generation(worker)
    generation.say("unheard")
    assert late.is_silent()
    client.send(Resume(job_id=job_id(1)))  # the stream can be read all the same
    assert "".join(delta.text for delta in client.receive(Replay).deltas) == "unheard"

    other = router.subscriber(other_key, job_id(2))
    until(lambda: job_id(2) in topics)  # another key has its own count
    crowd.socket.close()
    until(lambda: len(list(topics)) == 1)
    again = router.subscriber(key, job_id(1))
    generation.reach(again)
    assert other.is_silent()


def test_prefixes_of_a_tenant_have_their_own_salt(router: SecuredRouter) -> None:
    """Workers share cached prefixes within one salt; a client cannot name that of another tenant."""
    alice, alices = router.key("alice", tenant="team"), router.key("anna", tenant="team")
    bob = router.key("bob")
    numbers = itertools.count(1)
    worker = router.worker(router.key("w", "worker"))

    def salt_of(client: Peer, **options: Any) -> str:
        number = next(numbers)
        assert isinstance(client.ask(submit(number, **options)), Accepted)
        dispatch = dispatched(worker)
        done = make_delta(dispatch.dispatch_id, 0, "x", finish=Finish("stop"))
        worker.send(Report(number, 2, 64, 0, [done]))
        client.receive(Finished)
        return dispatch.cache_salt

    first, second, foreign = router.client(alice), router.client(alices), router.client(bob)
    own = salt_of(first)
    assert salt_of(first) == salt_of(second) == own
    assert salt_of(first, cache_salt="a") == salt_of(second, cache_salt="a") != own
    for guess in ("", own, "team", "team/", "a"):
        assert salt_of(foreign, cache_salt=guess) not in (own, salt_of(first, cache_salt="a"))


def test_the_submitter_receives_its_stream(router: SecuredRouter) -> None:
    """The package's own client subscribes first and submits then."""
    from cactus_actors import Client

    with (
        EchoWorker(router.endpoints.workers, step_s=0.002, credentials=router.key("w", "worker")),
        Client(router.endpoints.jobs, router.endpoints.stream, key_file=router.key_file("alice")) as client,
    ):
        deltas: list[Delta] = list(client.stream("abc", max_tokens=40))
        assert len([token for delta in deltas for token in delta.token_ids]) == 40
        assert len(deltas) > 2  # published as they were generated, not fetched at the end


def serve(worker: Peer, num_jobs: int) -> list[int]:
    """The jobs that a worker with one slot receives, in order."""
    order: list[int] = []
    while len(order) < num_jobs:
        dispatch = dispatched(worker)
        order.append(int(dispatch.job_id, 16))
        worker.send(Report(len(order), 1, 64, 0, [make_delta(dispatch.dispatch_id, 0, "x", finish=STOP)]))
    return order


def test_waiting_tenants_are_served_by_the_weights_of_their_keys(tmp_path: Path) -> None:
    with secured_router(tmp_path, on_deck=0) as router:
        heavy = router.client(router.key("heavy", grants=KeyGrants(weight=3)))
        light = router.client(router.key("light"))
        for number in range(1, 41):
            assert isinstance(heavy.ask(submit(number, max_tokens=50)), Accepted)
            # A user name, or another key's account, changes nothing.
            greedy = msgspec.structs.replace(submit(100 + number, max_tokens=50, user=f"u{number}"), account="heavy")
            assert isinstance(light.ask(greedy), Accepted)
        worker = router.worker(router.key("w", "worker"), make_hello(num_slots=1))
        num_heavy = sum(number < 100 for number in serve(worker, 40))
        assert 29 <= num_heavy <= 31


def test_a_changed_weight_applies_to_later_jobs_and_cuts_no_connection(tmp_path: Path) -> None:
    with secured_router(tmp_path, on_deck=0) as router:
        alice = router.client(router.key("alice"))
        assert isinstance(alice.ask(submit(1)), Accepted)
        [key] = router.store.known()
        router.store._write_known([msgspec.structs.replace(key, weight=7)])
        jobs, numbers = router.actor.core.state.jobs.live, itertools.count(2)

        def has_weight() -> bool:
            number = next(numbers)
            assert isinstance(alice.ask(submit(number)), Accepted)
            return jobs[job_id(number)].submission.grants.weight == 7

        until(has_weight)
        assert jobs[job_id(1)].submission.grants.weight == 1


def unsure(worker: Peer, number: int) -> None:
    """The worker of this job ends it with the lowest confidence."""
    dispatch = dispatched(worker)
    assert dispatch.job_id == job_id(number)
    delta = make_delta(dispatch.dispatch_id, 0, "x", entropy=UNSURE, finish=STOP)
    worker.send(Report(number, 2, 64, 0, [delta]))


def test_a_key_without_the_cloud_excludes_its_tenant_at_once(router: SecuredRouter) -> None:
    one, other = router.client(router.key("one", tenant="team")), router.client(router.key("other"))
    worker_key = router.key("w", "worker")
    worker = router.worker(worker_key)
    cloud = router.worker(worker_key, make_hello("cloud", kind="cloud", num_slots=4))

    def ask(client: Peer, number: int) -> None:
        cloud.send(Report(0, 4, 0, 0, []))  # it is there
        message = submit(number, cloud_handoff_threshold=0.5, allow_cloud=True)
        assert isinstance(client.ask(message), Accepted)
        unsure(worker, number)

    ask(one, 1)
    assert dispatched(cloud).job_id == job_id(1)
    router.store.add("two", "client", "team", grants=KeyGrants(allow_cloud=False))
    time.sleep(2 * RECHECK_S)
    ask(one, 2)  # over the connection that it had
    handoff = one.receive(Finished).result.handoff
    assert (handoff.status, handoff.reason) == ("suppressed", "the key does not allow the cloud")
    ask(other, 3)
    assert dispatched(cloud).job_id == job_id(3)
    router.store.revoke("two")
    time.sleep(2 * RECHECK_S)
    ask(one, 4)
    assert dispatched(cloud).job_id == job_id(4)
