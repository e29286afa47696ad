"""Limits the lines of all batches in flight, and shares them among batches."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class LineSlots:
    """Slots for lines, shared evenly by the batches that run; what one leaves, others take."""

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
            self.tell()

    def may_begin(self, share: SlotShare) -> bool:
        """True if a batch may start a line.

        A batch with no line in flight always may, since other batches' lines may take any time; by these lines
        alone there may be more than slots.
        """
        if share.num_held == 0:
            return True
        if sum(one.num_held for one in self._shares) >= self._num_slots:
            return False
        even = -(-self._num_slots // len(self._shares))
        return share.num_held < even or not any(
            one.is_waiting and one.num_held < even for one in self._shares if one is not share
        )

    def tell(self) -> None:
        """Let those that wait look again."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def wait(self) -> None:
        """Until something changes."""
        await self._changed.wait()


class SlotShare:
    """One batch's part; within `async with` a line of it is in flight, which may be many times at once."""

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
                self._slots.tell()

    async def __aexit__(self, *_: object) -> None:
        self.num_held -= 1
        self._slots.tell()
