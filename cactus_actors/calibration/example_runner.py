"""Runs examples on a service and judges its answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from cactus_actors.calibration.examples import Example
from cactus_actors.client import AsyncClient
from cactus_actors.protocol.errors import CactusError, InvalidRequest, Unavailable
from cactus_actors.protocol.messages import ChatMessage
from cactus_actors.protocol.results import Result


@dataclass(frozen=True, slots=True)
class ExampleOutcome:
    """An answer and its judgement; `result` is None for a failed example."""

    example: Example
    result: Result | None
    is_right: bool


async def run_examples(
    client: AsyncClient,
    examples: Sequence[Example],
    options: dict[str, Any],
    *,
    max_in_flight: int,
    observe: Callable[[], None] = lambda: None,
) -> list[ExampleOutcome]:
    """Run all examples, `max_in_flight` at once, and call `observe` after each; nothing is handed off.

    A failed job is an outcome; InvalidRequest and Unavailable, which would affect all examples, are raised.
    """
    slots = asyncio.Semaphore(max_in_flight)

    async def ask(example: Example) -> ExampleOutcome:
        messages = example.messages
        if example.question is not None:
            messages = [ChatMessage(role="user", content=example.question)]
        async with slots:
            try:
                result = await client.complete(
                    example.prompt, messages=messages, tools=example.tools, allow_cloud=False, **options
                )
            except (InvalidRequest, Unavailable):
                raise
            except CactusError:
                return ExampleOutcome(example, None, False)
            finally:
                observe()
        return ExampleOutcome(example, result, example.is_right(result))

    tasks = [asyncio.create_task(ask(example)) for example in examples]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
