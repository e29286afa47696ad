"""Failures of a cloud; each says if it is retried, and how the circuit breaker counts it."""

from __future__ import annotations

import email.utils
import math
from typing import Literal

from cactus_actors.handoff.circuit_breaker import BreakerOutcome
from cactus_actors.protocol.errors import HandoffFailed

FailureKind = Literal[
    "cloud_auth",
    "cloud_budget_spent",
    "cloud_connection",
    "cloud_overloaded",
    "cloud_protocol_error",
    "cloud_rejected",
    "cloud_server_error",
    "cloud_timeout",
    "cloud_unavailable",
]

MAX_RETRY_AFTER_S = 86_400.0
_RETRIED_STATUSES = frozenset({408, 429, 500, 502, 503, 504})
_BACKPRESSURE = frozenset({429, 503})


class CloudFailure(HandoffFailed):
    """A failed attempt; its message starts with `kind`, and ends with the cloud's own words, the `detail`.

    `summary` is the message without both, for logs: the detail may quote the request. `outcome` is recorded by the
    breaker. `retriable` is true if the request may be repeated, provided no part of the answer was forwarded. With
    `is_refused` no request was sent.
    """

    def __init__(
        self,
        kind: FailureKind,
        summary: str,
        *,
        detail: str = "",
        outcome: BreakerOutcome = "neutral",
        retriable: bool = False,
        retry_after: float | None = None,
        is_refused: bool = False,
    ) -> None:
        super().__init__(f"{kind}: {summary}" + (f": {detail}" if detail else ""), retry_after=retry_after)
        self.kind = kind
        self.summary = summary
        self.outcome = outcome
        self.retriable = retriable
        self.is_refused = is_refused


def status_failure(status: int, detail: str, retry_after: str | None = None, date: str | None = None) -> CloudFailure:
    """The failure for a response status other than 200; `detail` is the cloud's message.

    `retry_after` and `date` are headers of the response.
    """
    summary = f"the cloud answered {status}"
    retriable = status in _RETRIED_STATUSES
    if status in _BACKPRESSURE:
        return CloudFailure(
            "cloud_overloaded",
            summary,
            detail=detail,
            retriable=True,
            retry_after=parse_retry_after(retry_after, date),
        )
    if status >= 500:
        return CloudFailure("cloud_server_error", summary, detail=detail, outcome="failure", retriable=retriable)
    if status in (401, 403):
        # the details of these may quote keys
        return CloudFailure("cloud_auth", f"the cloud refused the key ({status})")
    if 300 <= status < 400:
        return CloudFailure("cloud_rejected", f"{summary}; redirects are not followed")
    return CloudFailure("cloud_rejected", summary, detail=detail, retriable=retriable)


def parse_retry_after(value: str | None, date: str | None) -> float | None:
    """Seconds from a Retry-After header, which holds seconds or an HTTP date; None if it is invalid.

    A date is relative to the response's Date header: this machine's clock may be wrong.
    """
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = _timestamp(value) - _timestamp(date or "")
        except (ValueError, OverflowError):
            return None
    return None if math.isnan(seconds) else min(max(0.0, seconds), MAX_RETRY_AFTER_S)


def _timestamp(date: str) -> float:
    return email.utils.parsedate_to_datetime(date).timestamp()
