"""Runs a list of jobs, some of them at once."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence

from cactus_actors.client.submit import EncodedSubmit
from cactus_actors.protocol.errors import AuthenticationFailed, CactusError, Overloaded, Unavailable
from cactus_actors.protocol.results import Result

RETRY_S = 1.0
MAX_RETRY_S = 30.0
Outcome = Result | CactusError


async def outcomes(
    jobs: Sequence[EncodedSubmit], run: Callable[[EncodedSubmit], Awaitable[Result]], max_in_flight: int
) -> list[Outcome]:
    """The result of each job, or its error, in their order.

    A full service is asked again, without a limit of time. Unavailable without a result, and a refused key, end all.
    """
    found: list[Outcome | None] = [None] * len(jobs)
    places = iter(range(len(jobs)))

    async def work() -> None:
        for place in places:
            found[place] = await _outcome(jobs[place], run)

    try:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(min(max_in_flight, len(jobs))):
                tasks.create_task(work())
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None
    return [outcome for outcome in found if outcome is not None]


async def _outcome(job: EncodedSubmit, run: Callable[[EncodedSubmit], Awaitable[Result]]) -> Outcome:
    while True:
        try:
            return await run(job)
        except Overloaded as error:
            wait_s = min(error.retry_after or RETRY_S, MAX_RETRY_S)
            await asyncio.sleep(wait_s * random.uniform(1.0, 1.5))  # noqa: S311  (spreads retries)
        except (Unavailable, AuthenticationFailed) as error:
            if error.result is None:
                raise
            return error
        except CactusError as error:
            return error
