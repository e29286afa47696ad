"""Large messages are limited in bytes, per client and in total, before they are decoded."""

from __future__ import annotations

import pytest

from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.wire import JSON, MSGPACK, Encoding, encode, job_id_within
from cactus_actors.router.auth.large_messages import (
    LARGE_BYTES,
    OF_ALL_CLIENTS,
    OF_ONE_CLIENT,
    LargeMessageRates,
)
from tests.support.router.core_harness import job_id

MESSAGE = 4 << 20


def sent(rates: LargeMessageRates, client: str, now: float, *, has_key: bool) -> int:
    """The number of messages of 4 MiB that are accepted from a client in a row."""
    count = 0
    while not rates.delay_s(client, MESSAGE, now, has_key=has_key):
        count += 1
    return count


def test_small_messages_are_not_limited() -> None:
    rates = LargeMessageRates()
    assert all(not rates.delay_s("one", LARGE_BYTES, 0.0, has_key=False) for _ in range(100_000))


def test_one_client_gets_its_burst_and_then_its_rate() -> None:
    rates = LargeMessageRates()
    assert sent(rates, "one", 0.0, has_key=True) == OF_ONE_CLIENT.burst // MESSAGE
    delay_s = rates.delay_s("one", MESSAGE, 0.0, has_key=True)
    assert delay_s == pytest.approx(MESSAGE / OF_ONE_CLIENT.rate)
    assert not rates.delay_s("one", MESSAGE, delay_s, has_key=True)
    assert rates.delay_s("one", MESSAGE, delay_s, has_key=True) > 0


def test_connections_without_keys_share_one_rate() -> None:
    rates = LargeMessageRates()
    total = sum(sent(rates, f"connection {number}", 0.0, has_key=False) for number in range(1000))
    assert total == OF_ALL_CLIENTS.burst // MESSAGE
    later = sum(sent(rates, f"connection {number}", 1.0, has_key=False) for number in range(1000))
    assert later == OF_ALL_CLIENTS.rate // MESSAGE


def test_a_key_keeps_its_share_when_others_exceed_theirs() -> None:
    rates = LargeMessageRates()
    for name in "abcd":
        sent(rates, name, 0.0, has_key=True)
    assert not rates.delay_s("bystander", MESSAGE, 0.0, has_key=True)
    assert rates.delay_s("a", MESSAGE, 0.0, has_key=True)


def test_idle_clients_are_forgotten() -> None:
    rates = LargeMessageRates()
    for number in range(100_000):
        rates.delay_s(f"connection {number}", LARGE_BYTES + 1, float(number), has_key=False)
    assert len(rates) <= 8192


@pytest.mark.parametrize("encoding", [MSGPACK, JSON])
def test_the_job_id_of_a_message_is_found_without_decoding_it(encoding: Encoding) -> None:
    submit = Submit(job_id=job_id(7), prompt="word " * 100_000, options=Options(max_tokens=2))
    payload = encode(submit, encoding)[1]
    assert job_id_within(memoryview(payload)) == job_id(7)


@pytest.mark.parametrize("content", [b"", b"job_id", b'"job_id":"abc"', b'"job_id":"' + b"a" * 33 + b'"', bytes(9000)])
def test_messages_without_a_job_id_have_no_job(content: bytes) -> None:
    assert job_id_within(memoryview(content)) is None
