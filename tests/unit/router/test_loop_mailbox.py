"""Calls of other threads to the router's loop."""

from __future__ import annotations

import select
import threading
from collections.abc import Iterator
from functools import partial

import pytest

from cactus_actors.router.process.loop_mailbox import LoopMailbox


@pytest.fixture
def mailbox() -> Iterator[LoopMailbox]:
    mailbox = LoopMailbox()
    yield mailbox
    mailbox.close()


def wakes(mailbox: LoopMailbox) -> bool:
    return bool(select.select([mailbox], [], [], 0)[0])


def test_calls_are_made_in_order_and_wake_a_poller_until_they_are(mailbox: LoopMailbox) -> None:
    made: list[int] = []
    for number in range(5):
        mailbox.post(partial(made.append, number))
        assert wakes(mailbox)
    mailbox.run_pending()
    assert made == [0, 1, 2, 3, 4]
    assert not wakes(mailbox)


def test_a_call_without_hurry_is_made_with_the_next_one(mailbox: LoopMailbox) -> None:
    made: list[str] = []
    mailbox.post(lambda: made.append("later"), wakes=False)
    assert not wakes(mailbox)
    mailbox.post(lambda: made.append("now"))
    assert wakes(mailbox)
    mailbox.run_pending()
    assert made == ["later", "now"]


def test_calls_made_during_a_turn_wait_for_the_next_one(mailbox: LoopMailbox) -> None:
    made: list[str] = []
    mailbox.post(lambda: mailbox.post(lambda: made.append("second")))
    mailbox.run_pending()
    assert made == []
    assert wakes(mailbox)
    mailbox.run_pending()
    assert made == ["second"]


def test_no_call_of_many_threads_is_lost_or_left_without_a_wake(mailbox: LoopMailbox) -> None:
    made: list[int] = []

    def post_many(thread: int) -> None:
        for number in range(1000):
            mailbox.post(partial(made.append, 1000 * thread + number), wakes=number % 2 == 1)

    threads = [threading.Thread(target=post_many, args=(thread,)) for thread in range(4)]
    for thread in threads:
        thread.start()
    while len(made) < 4000:
        assert select.select([mailbox], [], [], 60)[0], "a call waits, and nothing wakes the poller"
        mailbox.run_pending()
    for thread in threads:
        thread.join()
    assert sorted(made) == [*range(4000)]
    assert all(in_order(made, thread) for thread in range(4))


def in_order(made: list[int], thread: int) -> bool:
    of_thread = [number for number in made if number // 1000 == thread]
    return of_thread == sorted(of_thread)


def test_a_closed_mailbox_takes_calls_without_effect(mailbox: LoopMailbox) -> None:
    mailbox.close()
    mailbox.post(lambda: pytest.fail("nobody runs this"))
    mailbox.close()
