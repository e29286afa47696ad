"""The blocks of the KV cache: who holds them, and which prefixes they still know."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from cactus_actors.workers.engine.sequence import BlockHash

MAX_EVENTS = 1 << 16
"""Blocks that are told of at once, so that a message stays small."""


class CacheEvents(NamedTuple):
    """Contents that can be found from now on, and those that can be no more."""

    stored: list[BlockHash]
    evicted: list[BlockHash]


class BlockPool:
    """`num_blocks` blocks, counted by reference; a released block keeps its content until it is needed.

    Free blocks stand in the order of their reuse: blocks without a known content first, then by the time of
    their release. A published block is found by its hash until it is allocated again.
    """

    def __init__(self, num_blocks: int) -> None:
        self.num_blocks = num_blocks
        self._free: OrderedDict[int, None] = OrderedDict.fromkeys(range(num_blocks))
        self._num_references = [0] * num_blocks
        self._hash_of_block: dict[int, BlockHash] = {}
        self._block_of_hash: dict[BlockHash, int] = {}
        self._events: dict[BlockHash, bool] = {}

    @property
    def num_free(self) -> int:
        """Blocks that nobody holds, whether or not their content is known."""
        return len(self._free)

    def find_prefix(self, hashes: Sequence[BlockHash]) -> list[int]:
        """The blocks of the longest known beginning of `hashes`; they are not held yet."""
        found: list[int] = []
        for block_hash in hashes:
            block = self._block_of_hash.get(block_hash)
            if block is None:
                break
            found.append(block)
        return found

    def num_free_among(self, blocks: Sequence[int]) -> int:
        """How many of `blocks` would leave the free ones if they were held."""
        return sum(1 for block in blocks if not self._num_references[block])

    def hold(self, blocks: Sequence[int]) -> None:
        """Add a reference to each of `blocks`."""
        for block in blocks:
            self._free.pop(block, None)
            self._num_references[block] += 1

    def allocate(self, num_blocks: int) -> list[int]:
        """Hold `num_blocks` free blocks and forget what they contained."""
        assert num_blocks <= self.num_free, "ask num_free first"
        blocks = [self._free.popitem(last=False)[0] for _ in range(num_blocks)]
        for block in blocks:
            self._num_references[block] = 1
            block_hash = self._hash_of_block.pop(block, None)
            if block_hash is not None:
                del self._block_of_hash[block_hash]
                self._record_event(block_hash, False)
        return blocks

    def publish(self, block: int, block_hash: BlockHash) -> None:
        """Say what a held block contains; of two blocks with one content the first is the known one."""
        assert self._num_references[block] > 0, "a free block's content may be overwritten"
        if block not in self._hash_of_block and block_hash not in self._block_of_hash:
            self._hash_of_block[block] = block_hash
            self._block_of_hash[block_hash] = block
            self._record_event(block_hash, True)

    def take_events(self) -> CacheEvents:
        """What has become known, and what unknown, since this was asked last; at most MAX_EVENTS of it."""
        events, self._events = self._events, {}
        if len(events) > MAX_EVENTS:
            items = list(events.items())
            events, self._events = dict(items[:MAX_EVENTS]), dict(items[MAX_EVENTS:])
        return CacheEvents(
            stored=[block_hash for block_hash, is_known in events.items() if is_known],
            evicted=[block_hash for block_hash, is_known in events.items() if not is_known],
        )

    def republish(self) -> None:
        """Let the next events list all known contents, for a router that knows none."""
        self._events = dict.fromkeys(self._block_of_hash, True)

    def release(self, block_table: Sequence[int]) -> None:
        """Drop a reference to each block of a sequence; a prefix's end is reused before its beginning."""
        for block in reversed(block_table):
            self._num_references[block] -= 1
            assert self._num_references[block] >= 0, "released more often than held"
            if self._num_references[block] == 0:
                self._free[block] = None
                if block not in self._hash_of_block:
                    self._free.move_to_end(block, last=False)

    def _record_event(self, block_hash: BlockHash, is_known: bool) -> None:
        """Record a change; a change that undoes a pending one cancels it."""
        if self._events.pop(block_hash, is_known) == is_known:
            self._events[block_hash] = is_known
