"""Failures of a real HTTP server in the log: one line for each kind, without the server's own words."""

from __future__ import annotations

import pytest

from tests.support.http.cloud_asker import Asker
from tests.support.http.fake_cloud import Answering, fake_cloud, fast, resets_at_once, sends_broken_json, status

QUOTED = "your prompt was: what is the capital"


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.levelname == "WARNING"]


@pytest.mark.parametrize(
    ("answering", "reason"),
    [
        (status(401, QUOTED), "the cloud refused the key (401)"),
        (status(429, QUOTED), "the cloud answered 429"),
        (status(500, QUOTED), "the cloud answered 500"),
        (sends_broken_json, "a chunk is not a chat completion chunk"),
        (resets_at_once, "the connection failed (ReadError)"),
    ],
)
async def test_failures_of_a_kind_are_one_warning_with_the_reason(
    answering: Answering, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with fake_cloud(answering) as cloud:
        asker = Asker(cloud.base_url, model="big", max_retries=1)
        for _ in range(2):
            await asker.fail()
        await asker.cloud.aclose()
    assert warnings_of(caplog) == [f"a request to 127.0.0.1/big failed: {reason}"]
    assert QUOTED not in caplog.text


async def test_a_failure_of_another_kind_is_told_at_once_and_an_answer_is_not(caplog: pytest.LogCaptureFixture) -> None:
    async with fake_cloud(fast, status(500), status(401), fast) as cloud:
        asker = Asker(cloud.base_url, model="big", max_retries=0)
        await asker.ask()
        assert warnings_of(caplog) == []
        for _ in range(2):
            await asker.fail()
        await asker.ask()
        await asker.cloud.aclose()
    assert [line.rpartition(": ")[2] for line in warnings_of(caplog)] == [
        "the cloud answered 500",
        "the cloud refused the key (401)",
    ]
