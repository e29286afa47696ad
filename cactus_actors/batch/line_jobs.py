"""Jobs of lines, each submitted until it has a result, whatever happens to the service meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from cactus_actors.batch.batch_request import BatchLimits
from cactus_actors.batch.line_client import LineClient
from cactus_actors.batch.patience import Patience
from cactus_actors.client.submit import encoded
from cactus_actors.protocol.errors import (
    AuthenticationFailed,
    CactusError,
    DeadlineExceeded,
    JobConflict,
    Overloaded,
    ServerFailure,
    StorageFailure,
    Unavailable,
)
from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.results import Result

BATCH_PRIORITY = 10  # after interactive jobs, whose priority is 0
MAX_ATTEMPTS = 100  # each interrupted run of a line counts, and the router remembers all of them

SERVICE_FAILURES = (Overloaded, Unavailable, StorageFailure, AuthenticationFailed)  # not caused by a line

JobIdOf = Callable[..., str]


def in_background(options: Options) -> Options:
    """The options with the priority of prompt files, unless they have one."""
    return options if options.priority is not None else msgspec.structs.replace(options, priority=BATCH_PRIORITY)


class LineJobs:
    """The jobs of one run; `round_` separates those that are run again."""

    def __init__(self, client: LineClient, limits: BatchLimits, account: str, round_: int = 0) -> None:
        self._client = client
        self._patience = Patience(limits)
        self._account = account
        self._round = round_

    async def result(self, submit: Submit, frames: list[bytes], job_id_of: JobIdOf, choice: int) -> Result:
        """The result of one choice. Its seed, and so its tokens, are the same at every attempt.

        Raises DeadlineExceeded if the service has no room for it within the job's timeout.
        """
        attempt, first_tried_at = 0, time.monotonic()
        while attempt < MAX_ATTEMPTS:
            job_id = job_id_of(choice, attempt + MAX_ATTEMPTS * self._round)
            submit = msgspec.structs.replace(submit, job_id=job_id, account=self._account)
            try:
                result = await self._client.run(encoded(submit, frames))
            except JobConflict:  # an earlier run used another priority
                attempt += 1
            except Overloaded as error:
                self._patience.on_reply()
                _check_time(submit, first_tried_at, error)
                await self._patience.pause_after(error)
            except (Unavailable, StorageFailure) as error:
                # An unreachable service may have the result.
                if error.result is not None or isinstance(error, StorageFailure):
                    _check_time(submit, first_tried_at, error)
                self._patience.on_unavailable(error)
                attempt += error.result is not None  # an ended job stays ended
                await self._patience.pause_after(error)
            except CactusError:
                self._patience.on_reply()
                raise
            else:
                self._patience.on_reply()
                # An interrupted run cancelled its jobs in flight, and the router remembers.
                if result.finish_reason != "cancelled":
                    return result
                attempt += 1
        raise ServerFailure("the job was cancelled again and again")


def _check_time(submit: Submit, first_tried_at: float, error: CactusError) -> None:
    """Raise DeadlineExceeded for a job that was refused with `error` beyond its own timeout."""
    timeout_ms = submit.options.timeout_ms
    if timeout_ms is not None and time.monotonic() - first_tried_at >= timeout_ms / 1000:
        message = f"the service had no room for this line within {timeout_ms} ms: {error.message}"
        raise DeadlineExceeded(message, param="timeout_ms") from error
