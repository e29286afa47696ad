"""`Client.batch`: a list of prompts, their results in its order."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cactus_actors import Client
from cactus_actors.protocol.errors import InvalidRequest, Overloaded, Unavailable
from cactus_actors.protocol.messages import Rejected, Submit
from cactus_actors.protocol.results import Result
from tests.support.router.scripted_router import ScriptedRouter


@pytest.fixture
def client(router: ScriptedRouter) -> Iterator[Client]:
    with Client(router.endpoint, router.stream_endpoint, timeout=30.0) as client:
        yield client


def test_results_are_in_the_order_of_the_prompts(client: Client, router: ScriptedRouter) -> None:
    prompts = [f"prompt {number}" for number in range(20)]
    chat = [{"role": "user", "content": "hi"}]
    results = client.batch([*prompts, chat, [1, 2]], max_in_flight=3, temperature=0, max_tokens=1)
    assert [result.text for result in results[:20]] == prompts
    assert results[20].text == "hi"
    assert [submit.messages is not None for submit in router.submitted()].count(True) == 1
    assert {submit.options.temperature for submit in router.submitted()} == {0}
    assert client.batch([]) == []


def test_a_failed_job_is_its_error_and_a_full_service_is_asked_again(client: Client, router: ScriptedRouter) -> None:
    num_refused = 0

    def refuse_some(identity: bytes, submit: Submit) -> None:
        nonlocal num_refused
        if submit.prompt == "bad":
            router.reply(identity, Rejected(error=InvalidRequest("lost").info(), job_id=submit.job_id))
        elif submit.prompt == "late" and num_refused < 2:
            num_refused += 1
            error = Overloaded("full", retry_after=0.01)
            router.reply(identity, Rejected(error=error.info(), job_id=submit.job_id))
        else:
            on_submit(identity, submit)

    on_submit, router.on_submit = router.on_submit, refuse_some  # type: ignore[method-assign]
    good, bad, late = client.batch(["good", "bad", "late"])
    assert isinstance(good, Result)
    assert isinstance(bad, InvalidRequest)
    assert bad.message == "lost"
    assert late.text == "late w1 w2 w3 w4"


def test_what_concerns_all_jobs_is_raised(client: Client, router: ScriptedRouter) -> None:
    with pytest.raises(InvalidRequest, match="temperature"):
        client.batch(["a", "b"], temperature=9)
    assert not router.received
    error = Unavailable("the service ends")
    router.on_submit = lambda identity, submit: router.reply(  # type: ignore[method-assign]
        identity, Rejected(error=error.info(), job_id=submit.job_id)
    )
    with pytest.raises(Unavailable, match="the service ends"):
        client.batch(["a", "b"])
