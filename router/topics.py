"""Who listens to which job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from router.callers import Caller

MAX_TOPICS = 65_536


@dataclass(slots=True)
class _Topic:
    tenant: str
    key: str
    num_listeners: int


class Topics:
    """A topic belongs to the tenant that was first to listen to it, until all its listeners have left.

    A refused subscription leaves as a granted one does, and who has left cannot always be told: then the
    refused one is taken to have left, since publishing to nobody harms less than not publishing.
    """

    def __init__(self) -> None:
        self._topics: dict[str, _Topic] = {}
        self._num_refused: dict[str, int] = {}
        self._num_of_key: Counter[str] = Counter()

    def __contains__(self, topic: str) -> bool:
        return topic in self._topics

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._topics))

    def is_free(self, topic: str, tenant: str) -> bool:
        """Whether no other tenant listens to it."""
        known = self._topics.get(topic)
        return known is None or known.tenant == tenant

    def subscribe(self, topic: str, caller: Caller) -> str | None:
        """A connection wants to listen; the reason if that is refused."""
        known = self._topics.get(topic)
        if known is not None and known.tenant == caller.tenant:
            known.num_listeners += 1
            return None
        if known is not None:
            return self.refuse(topic, "foreign_topic")
        if len(self._topics) >= MAX_TOPICS or self._num_of_key[caller.name] >= caller.max_topics:
            return self.refuse(topic, "too_many_topics")
        self._topics[topic] = _Topic(caller.tenant, caller.name, 1)
        self._num_of_key[caller.name] += 1
        return None

    def refuse(self, topic: str, reason: str) -> str:
        """A connection that wants to listen is not let; returns the reason."""
        self._num_refused[topic] = self._num_refused.get(topic, 0) + 1
        return reason

    def unsubscribe(self, topic: str, caller: Caller | None) -> None:
        """A connection listens no longer; `caller` is None for one that has ended."""
        if num_refused := self._num_refused.pop(topic, 0):
            if num_refused > 1:
                self._num_refused[topic] = num_refused - 1
            return
        known = self._topics.get(topic)
        if known is None or (caller is not None and caller.tenant != known.tenant):
            return
        known.num_listeners -= 1
        if not known.num_listeners:
            del self._topics[topic]
            self._num_of_key[known.key] -= 1
            if not self._num_of_key[known.key]:
                del self._num_of_key[known.key]
