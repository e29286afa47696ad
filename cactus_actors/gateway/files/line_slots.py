"""Limits the lines of all batches in flight, and shares them among batches."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class LineSlots:
    """Slots for lines, shared evenly by the running batches; free ones are available to all."""

    def __init__(self, num_slots: int) -> None:
        self._num_slots = num_slots
        self._shares: set[SlotShare] = set()
        self._changed = asyncio.Event()

    @contextmanager
    def share(self) -> Iterator[SlotShare]:
        """The slots of one more batch."""
        share = SlotShare(self)
        self._shares.add(share)
        try:
            yield share
        finally:
            self._shares.remove(share)
            self.notify()

    def may_begin(self, share: SlotShare) -> bool:
        """True if a batch may start a line.

        A batch with no line in flight always may, since other batches' lines may take long; these lines may exceed
        the number of slots.
        """
        if share.num_held == 0:
            return True
        if sum(one.num_held for one in self._shares) >= self._num_slots:
            return False
        even = -(-self._num_slots // len(self._shares))
        return share.num_held < even or not any(
            one.is_waiting and one.num_held < even for one in self._shares if one is not share
        )

    def notify(self) -> None:
        """Wake the waiting batches."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def wait(self) -> None:
        """Wait for a change."""
        await self._changed.wait()


class SlotShare:
    """One batch's part; each `async with` holds one line in flight, and many may be open at once."""

    def __init__(self, slots: LineSlots) -> None:
        self._slots = slots
        self._entering = asyncio.Lock()
        self.num_held = 0
        self.is_waiting = False

    async def __aenter__(self) -> None:
        async with self._entering:
            self.is_waiting = True
            try:
                while not self._slots.may_begin(self):
                    await self._slots.wait()
                self.num_held += 1
            finally:
                self.is_waiting = False
                self._slots.notify()

    async def __aexit__(self, *_: object) -> None:
        self.num_held -= 1
        self._slots.notify()
