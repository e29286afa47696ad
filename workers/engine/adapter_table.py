"""The adapters that sequences of an engine may have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from cactus_actors.protocol.errors import ModelNotFound, ServerFailure

NO_ADAPTER = -1


class AdapterTable:
    """Slots of the model's adapters by key, and the number of sequences that hold each.

    `remove_slot` is called for a dropped adapter when its last sequence has released it.
    """

    def __init__(self, remove_slot: Callable[[int], None]) -> None:
        self._remove_slot = remove_slot
        self._slots: dict[str, int] = {}
        self._failures: dict[str, str] = {}
        self._num_holders: Counter[str] = Counter()
        self._dropped: set[str] = set()

    @property
    def keys(self) -> set[str]:
        """The adapters that were added or failed, without dropped ones."""
        return (self._slots.keys() | self._failures.keys()) - self._dropped

    @property
    def failures(self) -> dict[str, str]:
        """Why adapters cannot be loaded, by key."""
        return dict(self._failures)

    def add(self, key: str, slot: int) -> None:
        """Sequences may have this adapter from now on."""
        assert key not in self._slots, "a key is added once"
        self._slots[key] = slot

    def fail(self, key: str, reason: str) -> None:
        """Record that the adapter cannot be loaded here: sequences that request it end with an error."""
        self._failures[key] = reason

    def drop(self, key: str) -> None:
        """Forget an adapter as soon as no sequence holds it; an unknown key is ignored."""
        self._failures.pop(key, None)
        if key in self._slots:
            self._dropped.add(key)
            self._free_unheld(key)

    def slot_of(self, key: str) -> int:
        """The slot of an adapter; NO_ADAPTER for the empty key. Raises ModelNotFound or ServerFailure.

        The error omits the reason of a failed load: it names files, which only operators may see.
        """
        if not key:
            return NO_ADAPTER
        if key in self._failures:
            raise ServerFailure("a worker could not load the adapter; the service's log has the reason", param="lora")
        if key not in self._slots:
            raise ModelNotFound(f"this worker has no adapter {key[:80]!r}", param="lora")
        return self._slots[key]

    def hold(self, key: str) -> None:
        """One more sequence has this adapter."""
        self._num_holders[key] += 1

    def release(self, key: str) -> None:
        """One sequence less has it."""
        self._num_holders[key] -= 1
        self._free_unheld(key)

    def _free_unheld(self, key: str) -> None:
        if key in self._dropped and self._num_holders[key] <= 0:
            self._dropped.remove(key)
            del self._num_holders[key]
            self._remove_slot(self._slots.pop(key))
