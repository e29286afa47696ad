"""Who comes to listen to a job, and goes."""

from __future__ import annotations

from collections import Counter

from cactus_actors.router.lifecycle.streams import Streams
from cactus_actors.router.state.caller import Caller
from cactus_actors.router.state.job_table import JobTable
from cactus_actors.router.state.topics import Topics


class Subscribers:
    """Lets listen whoever may; `refused` counts, by reason, who may not.

    What was generated before is not published again: a new listener is told the length and resumes.
    """

    def __init__(self, table: JobTable, topics: Topics, streams: Streams, refused: Counter[str]) -> None:
        self._table = table
        self._topics = topics
        self._streams = streams
        self._refused = refused

    def decide(self, topic: str, caller: Caller, now: float) -> bool:
        """Somebody wants to listen; whether that is granted."""
        known = self._table.get(topic)
        if known is not None and known.tenant != caller.tenant:
            refusal: str | None = self._topics.refuse(topic, caller, "foreign_topic")
        else:
            refusal = self._topics.subscribe(topic, caller)
        if refusal is None:
            self._tell_length(topic, now)
        else:
            self._refused[refusal] += 1
        return refusal is None

    def note(self, topic: str, caller: Caller, refusal: str | None, now: float) -> None:
        """Somebody listens, or was refused: the edge process has decided that."""
        if refusal is None:
            self._topics.subscribe(topic, caller)
            self._tell_length(topic, now)
        else:
            self._topics.refuse(topic, caller, refusal)
            self._refused[refusal] += 1

    def _tell_length(self, topic: str, now: float) -> None:
        job = self._table.live.get(topic)
        if job is not None:
            if job.length:
                self._streams.progress(job, now)
            self._streams.follow(job, now)
