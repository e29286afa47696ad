"""Grants or refuses subscriptions to the streams of jobs."""

from __future__ import annotations

from cactus_actors.router.lifecycle.streams import Streams
from cactus_actors.router.router_state import RouterState
from cactus_actors.router.state.caller import Caller


class Subscribers:
    """Subscribes callers to jobs of their own tenant; `refused` counts the others by reason.

    Earlier items are not published again: a new subscriber gets the length of the stream and resumes.
    """

    def __init__(self, state: RouterState, streams: Streams) -> None:
        self._jobs = state.jobs
        self._topics = state.topics
        self._refused = state.options.refused
        self._streams = streams

    def authorize(self, topic: str, caller: Caller, now: float) -> bool:
        """True if a caller may subscribe."""
        known = self._jobs.get(topic)
        if known is not None and known.tenant != caller.tenant:
            refusal: str | None = self._topics.refuse(topic, caller, "foreign_topic")
        else:
            refusal = self._topics.subscribe(topic, caller)
        if refusal is None:
            self._publish_length(topic, now)
        else:
            self._refused[refusal] += 1
        return refusal is None

    def record(self, topic: str, caller: Caller, refusal: str | None, now: float) -> None:
        """Record a subscription that the edge process granted or refused."""
        if refusal is None:
            self._topics.subscribe(topic, caller)
            self._publish_length(topic, now)
        else:
            self._topics.refuse(topic, caller, refusal)
            self._refused[refusal] += 1

    def _publish_length(self, topic: str, now: float) -> None:
        job = self._jobs.live.get(topic)
        if job is not None:
            if job.length:
                self._streams.progress(job, now)
            self._streams.schedule_progress(job, now)
