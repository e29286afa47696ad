"""A key is revoked while its connections are open: they are cut, and pending replies are not sent."""

from __future__ import annotations

import logging
import time
from pathlib import Path

import pytest

from cactus_actors.keys.key_file import read_key_file
from cactus_actors.protocol.errors import AuthenticationFailed
from cactus_actors.protocol.messages import Accepted, Fetch, Finished, Pending, Rejected
from cactus_actors.protocol.worker_messages import Abort, Dispatch, Finish
from cactus_actors.router.auth.accepted_keys import RECHECK_S, AcceptedKeys
from tests.support.router.core_harness import job_id
from tests.support.router.scripted_router import until
from tests.support.router.secured_router import Generation, Peer, SecuredRouter, dispatched, secured_router, submit
from tests.support.router.worker_messages import make_hello

WITHIN_S = 60.0
"""Half a second was measured; the rest is allowance for a busy machine."""


def hear(peer: Peer) -> None:
    """Discard the messages that have arrived so far."""
    while peer.socket.poll(0):
        peer.receive()


def test_a_subscriber_with_a_revoked_key_gets_no_more_tokens_and_others_do(router: SecuredRouter) -> None:
    laptop, server = router.key("laptop", tenant="team"), router.key("server", tenant="team")
    worker, client = router.worker(router.key("w", "worker")), router.client(laptop)
    assert isinstance(client.ask(submit(1)), Accepted)
    speaker = Generation(worker)
    revoked, kept = router.subscriber(laptop, job_id(1)), router.subscriber(server, job_id(1))
    topics = router.actor.core.state.topics
    until(lambda: job_id(1) in topics and topics._topics[job_id(1)].num_subscribers == 2)
    speaker.say("x")
    revoked.receive()
    kept.receive()

    router.store.revoke("laptop")
    while not router.refused().get("unknown_key"):  # it was cut, and reconnects
        speaker.say("x")
        time.sleep(0.02)
    hear(revoked)
    hear(kept)
    for _ in range(5):
        speaker.say("x")
    kept.receive()
    assert revoked.is_silent()
    kept.socket.unsubscribe(job_id(1))
    until(lambda: job_id(1) not in topics)  # the other's subscription ended with its connection


def test_a_waiting_client_with_a_revoked_key_gets_the_reason_and_nothing_else(router: SecuredRouter) -> None:
    laptop, server = router.key("laptop", tenant="team"), router.key("server", tenant="team")
    worker, revoked, kept = (
        router.worker(router.key("w", "worker")),
        router.client(laptop),
        router.client(server),
    )
    assert isinstance(revoked.ask(submit(1)), Accepted)
    speaker = Generation(worker)
    kept.send(Fetch(job_id=job_id(1)))

    router.store.revoke("laptop")
    since = time.monotonic()
    refused = revoked.receive()
    assert time.monotonic() - since < WITHIN_S
    assert isinstance(refused, Rejected)
    assert (refused.job_id, refused.error.type) == (job_id(1), AuthenticationFailed.type)
    speaker.say("end", finish=Finish("stop"))
    assert kept.receive(Finished).result.text == "end"  # the job belongs to the tenant
    until(lambda: router.refused().get("unknown_key", 0) > 0)  # it was cut, and reconnects
    assert revoked.is_silent()


def test_the_jobs_of_a_tenant_without_a_key_end(router: SecuredRouter) -> None:
    worker, alice = router.worker(router.key("w", "worker")), router.client(router.key("alice"))
    assert isinstance(alice.ask(submit(1)), Accepted)
    dispatch_id = dispatched(worker).dispatch_id
    router.store.revoke("alice")
    assert worker.receive(Abort).dispatch_id == dispatch_id
    assert isinstance(alice.receive(), Rejected)
    again = router.client(router.key("alice-again", tenant="alice"))
    ended = again.ask(Fetch(job_id=job_id(1), wait=False))
    assert ended.result.error.type == AuthenticationFailed.type


def test_a_worker_with_a_revoked_key_gets_no_more_prompts(router: SecuredRouter) -> None:
    revoked_key, alice = router.key("one", "worker"), router.client(router.key("alice"))
    revoked = router.worker(revoked_key, make_hello("w1"))
    assert isinstance(alice.ask(submit(1)), Accepted)
    dispatched(revoked)
    router.store.revoke("one")
    kept = router.worker(router.key("two", "worker"), make_hello("w2"))
    assert isinstance(kept.receive(), Dispatch)
    assert router.actor.core.state.counters.lost_workers["silent"] == 0  # its silence need not be detected first
    assert isinstance(alice.ask(submit(2)), Accepted)
    assert isinstance(kept.receive(), Dispatch)
    assert revoked.is_silent()


def test_remaining_keys_keep_their_connections(router: SecuredRouter) -> None:
    worker, kept = router.worker(router.key("w", "worker")), router.client(router.key("kept"))
    assert isinstance(kept.ask(submit(1)), Accepted)
    speaker = Generation(worker)
    router.key("gone")
    router.store.revoke("gone")
    time.sleep(2 * RECHECK_S)
    assert isinstance(kept.ask(Fetch(job_id=job_id(1), wait=False)), Pending)
    speaker.say("end", finish=Finish("stop"))
    kept.send(Fetch(job_id=job_id(1)))
    assert kept.receive(Finished).result.text == "end"


def test_a_damaged_key_file_revokes_no_key_and_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with secured_router(tmp_path) as router:
        credentials = read_key_file(router.key_file("alice"))
        keys = AcceptedKeys(router.store)
        router.store.known_path.write_bytes(b"{")
        with caplog.at_level(logging.ERROR, "cactus_actors.router.auth.accepted_keys"):
            for moment in range(1, 20):
                assert keys.take_revoked(float(moment)) == []
                assert keys.of(credentials.pair.public, float(moment)) is not None
    complaints = [record for record in caplog.records if record.threadName == "MainThread"]
    assert len(complaints) == 1
