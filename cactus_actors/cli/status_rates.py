"""Rates and latencies between two statuses of a service."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cactus_actors.protocol.messages import Status
    from cactus_actors.protocol.totals import Distribution, Totals

_LATENCIES = (
    ("waiting", "queue_seconds"),
    ("first token", "first_token_seconds"),
    ("between tokens", "inter_token_seconds"),
    ("whole job", "job_seconds"),
)


def changes_of(before: Status, now: Status, seconds: float) -> dict[str, float]:
    """Rates per second between two statuses, by name; none across a restart of the router."""
    old, new = before.totals, now.totals
    if old is None or new is None or before.epoch != now.epoch or seconds <= 0:
        return {}
    return {
        "jobs": (now.jobs.finished - before.jobs.finished) / seconds,
        "tokens": (new.generated_tokens - old.generated_tokens) / seconds,
        "prompt tokens": (new.prompt_tokens_done - old.prompt_tokens_done) / seconds,
        "failed": (now.jobs.failed - before.jobs.failed) / seconds,
        "refused": (now.jobs.rejected - before.jobs.rejected) / seconds,
    }


def latencies_of(before: Totals | None, now: Totals) -> dict[str, tuple[float, float]]:
    """Median and 95th percentile in seconds of jobs that ended since `before`, if any."""
    found = {}
    for name, field in _LATENCIES:
        spread = getattr(now, field)
        counts = _difference(getattr(before, field) if before is not None else None, spread)
        if any(counts):
            found[name] = (_quantile(spread.bounds, counts, 0.5), _quantile(spread.bounds, counts, 0.95))
    return found


def _difference(before: Distribution | None, now: Distribution) -> list[int]:
    if before is None or before.bounds != now.bounds:
        return list(now.counts)
    return [new - old for new, old in zip(now.counts, before.counts, strict=True)]


def _quantile(bounds: tuple[float, ...], counts: list[int], share: float) -> float:
    """A quantile interpolated within its bucket; values above all bounds count as the highest bound."""
    wanted = share * sum(counts)
    below = 0
    for place, count in enumerate(counts[:-1]):
        if count and below + count >= wanted:
            lower = bounds[place - 1] if place else 0.0
            return lower + (bounds[place] - lower) * (wanted - below) / count
        below += count
    return bounds[-1]
