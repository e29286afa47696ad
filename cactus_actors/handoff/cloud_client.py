"""The HTTP client of one cloud: streamed chat completions with limits on time, size and attempts."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import Any

import httpx
import msgspec
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
    stop_before_delay,
    wait_exponential,
    wait_random,
)

from cactus_actors.api.openai import chat_request_body
from cactus_actors.config import HandoffSettings
from cactus_actors.handoff.answer_reader import (
    MAX_DETAIL_CHARACTERS,
    AnswerPiece,
    AnswerReader,
    CloudAnswer,
    error_detail,
)
from cactus_actors.handoff.circuit_breaker import BreakerOutcome, CircuitBreaker
from cactus_actors.handoff.cloud_access import check_base_url, is_loopback
from cactus_actors.handoff.cloud_connections import CloudConnections
from cactus_actors.handoff.cloud_failures import CloudFailure, FailureKind, status_failure
from cactus_actors.handoff.cloud_key import CLOUD_KEY_VARIABLE, CloudKey, redacted_logs
from cactus_actors.handoff.metering import Meter
from cactus_actors.handoff.request_budget import RequestBudget
from cactus_actors.handoff.sse_decoder import MAX_LINE_BYTES, LineTooLong, SSEDecoder
from cactus_actors.process.throttled_log import ThrottledLog
from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import CloudRequest

LOG = logging.getLogger(__name__)
LOG_INTERVAL_S = 60.0
MAX_BACKOFF_S = 8.0
MAX_ERROR_BODY_BYTES = 8 * 1024
REST_WAIT_S = 2.0
"""Seconds to wait for usage and end mark after the finish_reason."""


@dataclass
class _Exchange:
    """The request of one job; `has_forwarded` is set when any part of the answer was forwarded."""

    content: bytes
    key: CloudKey | None
    ends_at: float
    limited_by_job: bool
    forward: Callable[[AnswerPiece], None]
    request: CloudRequest
    meter: Meter
    has_forwarded: bool = False

    def take(self, piece: AnswerPiece) -> None:
        if any(piece):
            self.has_forwarded = True
            self.meter.num_chunks += 1
            self.forward(piece)

    def redact(self, text: str) -> str:
        return text if self.key is None else self.key.redact(text)


class CloudClient:
    """A client of one OpenAI-compatible endpoint; close it with `aclose`.

    `base_url` comes from the operator's settings and redirects are not followed, so neither a job nor an answer can
    choose the destination of a request.
    """

    def __init__(
        self,
        settings: HandoffSettings,
        breaker: CircuitBreaker,
        budget: RequestBudget,
        rest_wait_s: float = REST_WAIT_S,
    ) -> None:
        url = check_base_url(settings.base_url)
        self._settings = settings
        self._breaker = breaker
        self._budget = budget
        self._rest_wait_s = rest_wait_s
        self._url = settings.base_url.rstrip("/") + "/chat/completions"
        self.provider = f"{url.host}/{settings.model}"
        self._connections = CloudConnections(
            httpx.Timeout(settings.read_timeout_s, connect=settings.connect_timeout_s),
            trust_env=not is_loopback(url),  # no proxy for this machine
        )
        self._logs: dict[FailureKind, ThrottledLog] = {}

    async def aclose(self) -> None:
        """Close every connection."""
        await self._connections.aclose()

    async def answer(
        self,
        request: CloudRequest,
        params: SamplingParams,
        *,
        key: CloudKey | None,
        job_ends_at: float | None,
        forward: Callable[[AnswerPiece], None],
        meter: Meter,
    ) -> CloudAnswer:
        """Request an answer, forward it chunk by chunk, and return how it ended.

        `job_ends_at` is the job's own deadline in monotonic seconds; it and `total_timeout_s` bound the whole
        call. `meter` records the cost. Raises CloudFailure. After the first forwarded chunk a request is not
        repeated.
        """
        now = time.monotonic()
        ours = now + self._settings.total_timeout_s
        limited_by_job = job_ends_at is not None and job_ends_at < ours
        ends_at = job_ends_at if job_ends_at is not None and limited_by_job else ours
        body = chat_request_body(request, params, self._settings.model)
        exchange = _Exchange(msgspec.json.encode(body), key, ends_at, limited_by_job, forward, request, meter)

        def may_retry(error: BaseException) -> bool:
            return (
                isinstance(error, CloudFailure)
                and error.retriable
                and not exchange.has_forwarded
                and self._breaker.admits(time.monotonic())
                and not self._budget.is_spent
                and meter.refusal() is None
            )

        attempts = AsyncRetrying(
            retry=retry_if_exception(may_retry),
            stop=stop_after_attempt(1 + self._settings.max_retries) | stop_before_delay(ends_at - now),
            wait=self._wait_s,
            sleep=asyncio.sleep,
            reraise=True,
        )
        return await attempts(self._attempt, exchange)

    def _wait_s(self, state: RetryCallState) -> float:
        """The cloud's Retry-After plus a jittered exponential backoff."""
        first = self._settings.retry_backoff_s
        backoff = (wait_exponential(multiplier=first, max=MAX_BACKOFF_S) + wait_random(0.0, first))(state)
        error = state.outcome.exception() if state.outcome else None
        asked = error.retry_after if isinstance(error, CloudFailure) else None
        return (asked or 0.0) + backoff

    async def _attempt(self, exchange: _Exchange) -> CloudAnswer:
        """Send one HTTP request within the deadline, counted by budget and breaker."""
        if self._budget.is_spent:  # spent by another job meanwhile
            raise CloudFailure("cloud_budget_spent", "budget spent", is_refused=True)
        permit = self._breaker.admit(time.monotonic())
        if permit is None:
            raise CloudFailure("cloud_unavailable", "breaker open", is_refused=True)
        self._budget.spend()
        exchange.meter.on_request()
        outcome: BreakerOutcome = "neutral"  # also for an aborted request
        try:
            with redacted_logs(exchange.key):
                answer = await self._exchange(exchange)
            outcome = "success"
            return answer
        except (CloudFailure, TimeoutError, httpx.TransportError) as error:
            failure = _as_failure(error, exchange)
            outcome = failure.outcome
            self._log(failure)
            raise failure from None
        finally:
            self._breaker.record(permit, outcome, time.monotonic())

    def _log(self, failure: CloudFailure) -> None:
        """Warn of a failure: once in LOG_INTERVAL_S for each kind."""
        log = self._logs.setdefault(failure.kind, ThrottledLog(LOG, LOG_INTERVAL_S))
        log.warning("a request to %s failed: %s", self.provider, failure.summary)

    async def _exchange(self, exchange: _Exchange) -> CloudAnswer:
        """The answer to one request; raises TimeoutError and httpx.TransportError.

        An answer with a finish_reason is complete: neither deadline nor connection errors revoke it.
        """
        reader = AnswerReader(exchange.redact, exchange.request.tool_markup, exchange.request.tools)
        try:
            # The only timeout here: of two nested ones that expire together the outer one would be raised.
            async with asyncio.timeout_at(exchange.ends_at) as deadline:
                await self._read(exchange, reader, deadline)
        except (TimeoutError, httpx.TransportError):
            if not reader.is_complete:
                raise
        finally:
            exchange.meter.usage = reader.usage
        exchange.take(reader.rest())
        return reader.answer()

    async def _read(self, exchange: _Exchange, reader: AnswerReader, deadline: asyncio.Timeout) -> None:
        # identity: a compressed answer could exceed every limit when decompressed
        headers = {
            "Accept": "text/event-stream",
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
        }
        if exchange.key is not None:
            headers["Authorization"] = f"Bearer {exchange.key.reveal()}"
        async with (
            self._connections.lent() as client,
            client.stream("POST", self._url, content=exchange.content, headers=headers) as response,
        ):
            if response.status_code != 200:
                detail = exchange.redact(await _error_message(response))[:MAX_DETAIL_CHARACTERS]
                received = response.headers
                raise status_failure(response.status_code, detail, received.get("retry-after"), received.get("date"))
            if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
                raise CloudFailure("cloud_protocol_error", "the answer is not an event stream")
            exchange.meter.has_begun = True
            await self._read_events(response, exchange, reader, deadline)

    async def _read_events(
        self, response: httpx.Response, exchange: _Exchange, reader: AnswerReader, deadline: asyncio.Timeout
    ) -> None:
        """Read until the end of the stream, but only briefly after the finish_reason.

        Half of the time before the deadline is left for returning the answer.
        """
        is_complete = False
        async with contextlib.aclosing(_events_of(response)) as events:
            async for data in events:
                exchange.take(reader.read(data))
                if reader.is_done:
                    return
                if reader.is_complete and not is_complete:
                    is_complete = True
                    now = asyncio.get_running_loop().time()
                    deadline.reschedule(now + min(self._rest_wait_s, max(0.0, exchange.ends_at - now) / 2))


async def _events_of(response: httpx.Response) -> AsyncGenerator[bytes]:
    events = SSEDecoder()
    try:
        async for chunk in response.aiter_raw():
            for data in events.feed(chunk):
                yield data
        for data in events.end():
            yield data
    except LineTooLong:
        raise CloudFailure("cloud_protocol_error", f"a line is longer than {MAX_LINE_BYTES} bytes") from None


async def _error_message(response: httpx.Response) -> str:
    """The message of an error response, from its first bytes."""
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) > MAX_ERROR_BODY_BYTES:
            return ""
    try:
        decoded: Any = msgspec.json.decode(bytes(body))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    return error_detail(decoded.get("error", decoded) if isinstance(decoded, dict) else decoded)


def _as_failure(error: Exception, exchange: _Exchange) -> CloudFailure:
    if isinstance(error, CloudFailure):
        if error.kind == "cloud_auth" and exchange.key is None:
            hint = f"store one with `cactus auth`, or set {CLOUD_KEY_VARIABLE}"
            return CloudFailure("cloud_auth", f"the cloud requires a key, and none is configured: {hint}")
        return error
    if isinstance(error, TimeoutError):
        # a short job deadline says nothing about the cloud
        if exchange.limited_by_job:
            return CloudFailure("cloud_timeout", "the job's deadline passed before the answer ended")
        return CloudFailure("cloud_timeout", "the answer took too long as a whole", outcome="failure")
    if isinstance(error, httpx.TimeoutException):
        return CloudFailure(
            "cloud_timeout",
            f"the cloud went silent ({type(error).__name__})",
            outcome="failure",
            retriable=True,
        )
    # the error's own text may quote the request
    return CloudFailure(
        "cloud_connection",
        f"the connection failed ({type(error).__name__})",
        outcome="failure",
        retriable=True,
    )
