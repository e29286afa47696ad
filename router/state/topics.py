"""The subscribers of each job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from cactus_actors.router.state.caller import Caller

MAX_TOPICS = 65_536


@dataclass(slots=True)
class _Topic:
    """`refused` counts, by key, connections that wish to listen and may not.

    ZeroMQ does not tell whose subscriptions end with a connection: `num_ended` of all these have.
    """

    tenant: str
    key: str
    num_listeners: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    num_ended: int = 0

    @property
    def is_over(self) -> bool:
        return self.num_listeners + self.refused.total() <= self.num_ended


class Topics:
    """A topic belongs to the tenant that was first to listen to it, until all its listeners have left.

    While it cannot be told whether a listener has left or somebody who was refused, the listener is taken to
    be there: publishing to nobody harms less than silence.
    """

    def __init__(self) -> None:
        self.listened: set[str] = set()  # the topics that somebody listens to
        self._topics: dict[str, _Topic] = {}
        self._num_of_key: Counter[str] = Counter()

    def __contains__(self, topic: str) -> bool:
        return topic in self.listened

    def __iter__(self) -> Iterator[str]:
        return iter([*self.listened])

    def __len__(self) -> int:
        return len(self._topics)

    def is_free(self, topic: str, tenant: str) -> bool:
        """True if no other tenant is subscribed to it."""
        return topic not in self or self._topics[topic].tenant == tenant

    def tenant_of(self, topic: str) -> str | None:
        """The tenant that is subscribed to it, or None."""
        return self._topics[topic].tenant if topic in self else None

    def subscribe(self, topic: str, caller: Caller) -> str | None:
        """A connection wants to listen; the reason if that is refused."""
        if not self.is_free(topic, caller.tenant):
            return self.refuse(topic, caller, "foreign_topic")
        if topic not in self:
            if len(self._topics) >= MAX_TOPICS or self._num_of_key[caller.name] >= caller.max_topics:
                return self.refuse(topic, caller, "too_many_subscriptions")
            known = self._topics.setdefault(topic, _Topic(caller.tenant, caller.name))
            known.tenant, known.key = caller.tenant, caller.name
            self._num_of_key[caller.name] += 1
        self._topics[topic].num_listeners += 1
        self.listened.add(topic)
        return None

    def refuse(self, topic: str, caller: Caller, reason: str) -> str:
        """A connection that wants to listen is not let; returns the reason."""
        if topic in self._topics or len(self._topics) < MAX_TOPICS:
            known = self._topics.setdefault(topic, _Topic(caller.tenant, caller.name))
            known.refused[caller.name] += 1
        return reason

    def unsubscribe(self, topic: str, caller: Caller | None) -> None:
        """A connection listens no longer; `caller` is None for one that has ended."""
        known = self._topics.get(topic)
        if known is None:
            return
        if caller is None:
            known.num_ended += 1
        elif known.refused[caller.name]:
            known.refused[caller.name] -= 1
        elif known.num_listeners and known.tenant == caller.tenant:
            known.num_listeners -= 1
            if not known.num_listeners:
                self._release(topic, known.key)
        if known.is_over:
            if known.num_listeners:
                self._release(topic, known.key)
            del self._topics[topic]

    def clear(self) -> None:
        """Every connection has ended."""
        self._topics.clear()
        self.listened.clear()
        self._num_of_key.clear()

    def _release(self, topic: str, key: str) -> None:
        self.listened.discard(topic)
        self._num_of_key[key] -= 1
        if not self._num_of_key[key]:
            del self._num_of_key[key]
