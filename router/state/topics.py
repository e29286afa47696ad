"""The subscribers of each job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from cactus_actors.router.state.caller import Caller

MAX_TOPICS = 65_536


@dataclass(slots=True)
class _Topic:
    """`refused` counts, by key, the connections whose subscription was refused.

    ZeroMQ does not say whose subscriptions end with a connection: `num_ended` counts the ended subscriptions of both
    kinds.
    """

    tenant: str
    key: str
    num_subscribers: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    num_ended: int = 0

    @property
    def is_over(self) -> bool:
        return self.num_subscribers + self.refused.total() <= self.num_ended


class Topics:
    """A topic belongs to the tenant that subscribed first, until all its subscribers have left.

    ZeroMQ may not say whether a subscriber or a refused connection has left. Then the subscriber counts as present:
    an unneeded publication is better than a missing one.
    """

    def __init__(self) -> None:
        self.subscribed: set[str] = set()  # the topics that have subscribers
        self._topics: dict[str, _Topic] = {}
        self._num_of_key: Counter[str] = Counter()

    def __contains__(self, topic: str) -> bool:
        return topic in self.subscribed

    def __iter__(self) -> Iterator[str]:
        return iter([*self.subscribed])

    def __len__(self) -> int:
        return len(self._topics)

    def is_free(self, topic: str, tenant: str) -> bool:
        """True if no other tenant is subscribed to it."""
        return topic not in self or self._topics[topic].tenant == tenant

    def tenant_of(self, topic: str) -> str | None:
        """The tenant that is subscribed to it, or None."""
        return self._topics[topic].tenant if topic in self else None

    def subscribe(self, topic: str, caller: Caller) -> str | None:
        """Record a connection's subscription; returns the reason if it is refused."""
        if not self.is_free(topic, caller.tenant):
            return self.refuse(topic, caller, "foreign_topic")
        if topic not in self:
            if len(self._topics) >= MAX_TOPICS or self._num_of_key[caller.name] >= caller.max_topics:
                return self.refuse(topic, caller, "too_many_subscriptions")
            known = self._topics.setdefault(topic, _Topic(caller.tenant, caller.name))
            known.tenant, known.key = caller.tenant, caller.name
            self._num_of_key[caller.name] += 1
        self._topics[topic].num_subscribers += 1
        self.subscribed.add(topic)
        return None

    def refuse(self, topic: str, caller: Caller, reason: str) -> str:
        """Record a refused subscription; returns the reason."""
        if topic in self._topics or len(self._topics) < MAX_TOPICS:
            known = self._topics.setdefault(topic, _Topic(caller.tenant, caller.name))
            known.refused[caller.name] += 1
        return reason

    def unsubscribe(self, topic: str, caller: Caller | None) -> None:
        """Record the end of a subscription; `caller` is None if the connection has ended."""
        known = self._topics.get(topic)
        if known is None:
            return
        if caller is None:
            known.num_ended += 1
        elif known.refused[caller.name]:
            known.refused[caller.name] -= 1
        elif known.num_subscribers and known.tenant == caller.tenant:
            known.num_subscribers -= 1
            if not known.num_subscribers:
                self._release(topic, known.key)
        if known.is_over:
            if known.num_subscribers:
                self._release(topic, known.key)
            del self._topics[topic]

    def clear(self) -> None:
        """Record that every connection has ended."""
        self._topics.clear()
        self.subscribed.clear()
        self._num_of_key.clear()

    def _release(self, topic: str, key: str) -> None:
        self.subscribed.discard(topic)
        self._num_of_key[key] -= 1
        if not self._num_of_key[key]:
            del self._num_of_key[key]
