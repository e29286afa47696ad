"""An engine that answers many jobs at once in this process: the actors of `cactus batch --ray` have one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from cactus_actors.client.submit import make_submit
from cactus_actors.protocol.errors import ContextExceeded, ModelNotFound
from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.results import Result
from cactus_actors.ray_data.engine_client import EngineClient
from cactus_actors.sdk.engine_choice import EngineChoice


@pytest.fixture(scope="module")
def engine() -> Iterator[EngineClient]:
    with EngineClient(EngineChoice(model="cactus-sprout", max_sequences=4)) as engine:
        yield engine


def question(text: str, **options: object) -> Submit:
    return make_submit(messages=[{"role": "user", "content": text}], options={"max_tokens": 12, "seed": 3, **options})


def test_many_jobs_at_once_have_the_tokens_of_one_alone(engine: EngineClient) -> None:
    texts = [f"What is {number} + 1?" for number in range(9)]

    async def all_at_once() -> list[Result]:
        return await asyncio.gather(*(engine.run(question(text)) for text in texts))

    together = asyncio.run(all_at_once())
    alone = [asyncio.run(engine.run(question(text))) for text in texts]
    assert [result.token_ids for result in together] == [result.token_ids for result in alone]
    assert "2" in together[1].text
    assert asyncio.run(engine.status()).model_names == "cactus-sprout"


def test_refused_jobs_raise_their_errors_and_others_go_on(engine: EngineClient) -> None:
    async def some_fail() -> list[Result | BaseException]:
        jobs = [
            question("a " * 5000),
            question("What is 1 + 1?"),
            make_submit("x", model="-" * 9999, options={"seed": 1}),
        ]
        return await asyncio.gather(*map(engine.run, jobs), return_exceptions=True)

    long, fine, unknown = asyncio.run(some_fail())
    assert isinstance(long, ContextExceeded)
    assert isinstance(fine, Result)
    assert isinstance(unknown, ModelNotFound)


def test_a_cancelled_wait_ends_the_job(engine: EngineClient) -> None:
    async def cancelled() -> Result:
        waiting = asyncio.create_task(engine.run(question("Tell me a story.", max_tokens=900, ignore_eos=True)))
        await asyncio.sleep(0.05)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        return await engine.run(question("What is 1 + 1?"))

    assert asyncio.run(cancelled()).finish_reason == "stop"


def test_a_job_whose_loop_has_ended_costs_no_other(engine: EngineClient) -> None:
    async def left() -> None:
        task = asyncio.create_task(engine.run(question("Tell me a story.", max_tokens=900, ignore_eos=True)))
        await asyncio.sleep(0.05)
        del task  # asyncio.run cancels it, and closes the loop

    asyncio.run(left())
    assert asyncio.run(engine.run(question("What is 1 + 1?"))).finish_reason == "stop"
    assert asyncio.run(engine.run(question("What is 1 + 2?"))).finish_reason == "stop"
