"""A disk that is slower than the worker: jobs run meanwhile, and nobody hears of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cactus_actors.protocol.messages import Accepted, Delta, Finished, Progress
from cactus_actors.protocol.worker_messages import Abort, Dispatch, Finish
from cactus_actors.router import actor
from cactus_actors.router.journal.job_journal import JobJournal
from cactus_actors.router.state.journal_records import Entry
from tests.support.router.core_harness import job_id
from tests.support.router.running_router import Peer, Service, Subscriber, serving, submit
from tests.support.router.scripted_router import until
from tests.support.router.worker_messages import make_delta, report


class SlowJournal(JobJournal):
    """A journal whose disk writes nothing until it is released."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._held: list[Entry] = []

    def add(self, entry: Entry) -> None:
        self._held.append(entry)

    def release(self) -> None:
        for entry in self._held:
            super().add(entry)


@pytest.fixture
def journals(monkeypatch: pytest.MonkeyPatch) -> list[SlowJournal]:
    """The journals that routers open."""
    opened: list[SlowJournal] = []

    def slow_journal(directory: Path) -> SlowJournal:
        opened.append(SlowJournal(directory))
        return opened[-1]

    monkeypatch.setattr(actor, "JobJournal", slow_journal)
    return opened


@pytest.fixture
def service(tmp_path: Path, journals: list[SlowJournal]) -> Iterator[Service]:
    with serving(journal_dir=str(tmp_path)) as service:
        assert len(journals) == 1
        yield service


def tell(worker: Peer, text: str, finish: Finish | None = None) -> None:
    """The worker reports the beginning of the job that it was given, and the router has read that."""
    dispatch: Dispatch = worker.receive(Dispatch)
    unknown = make_delta(dispatch.dispatch_id + 99, 0, "?")
    worker.send(report(make_delta(dispatch.dispatch_id, 0, text, finish=finish), unknown, num_accepted=1))
    assert worker.receive(Abort).dispatch_id == dispatch.dispatch_id + 99


def heard(subscriber: Subscriber) -> list[Delta]:
    """The tokens that have come."""
    messages = []
    while subscriber.socket.poll(100):
        messages.append(subscriber.receive())
    assert all(message.length == 0 for message in messages if isinstance(message, Progress))
    return [message for message in messages if isinstance(message, Delta)]


def test_a_job_runs_while_its_sync_does_and_no_token_leaves_before(
    service: Service, journals: list[SlowJournal]
) -> None:
    worker, client, subscriber = service.worker(), service.client(), service.subscriber(job_id(1))
    until(lambda: service.status().held.topics == 1)
    client.send(submit(1))
    tell(worker, "the end", Finish("stop"))
    assert heard(subscriber) == []
    assert client.is_silent()
    assert (service.status().jobs.accepted, service.status().jobs.running) == (0, 1)
    journals[0].release()
    accepted = client.receive()
    assert isinstance(accepted, Accepted)
    assert accepted.durable
    published = subscriber.receive()
    while isinstance(published, Progress):
        published = subscriber.receive()
    finished = client.receive()
    assert isinstance(finished, Finished)
    assert published.text == finished.result.text == "the end"
    assert published.token_ids == finished.result.token_ids


def test_a_router_that_ends_before_the_sync_leaves_nothing_of_a_job_that_ran(
    tmp_path: Path, journals: list[SlowJournal]
) -> None:
    with serving(journal_dir=str(tmp_path)) as service:
        worker, client = service.worker(), service.client()
        client.send(submit(1))
        tell(worker, "the end", Finish("stop"))
        assert client.is_silent()
    with serving(journal_dir=str(tmp_path)) as service:
        assert (service.status().jobs.accepted, service.status().jobs.queued) == (0, 0)
        worker, client = service.worker(), service.client()
        client.send(submit(1))  # the client, who heard nothing, asks again
        tell(worker, "the end", Finish("stop"))
        journals[1].release()
        assert isinstance(client.receive(), Accepted)
        assert client.receive().result.text == "the end"
