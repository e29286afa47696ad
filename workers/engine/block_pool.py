"""The blocks of the KV cache: reference counts and prefix cache."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cactus_actors.workers.engine.sequence import BlockHash

MAX_EVENTS = 1 << 16
"""Blocks in one list of events, so that a message stays small."""


class CacheEvents(NamedTuple):
    """Hashes of blocks added to and removed from the prefix cache."""

    stored: list[BlockHash]
    evicted: list[BlockHash]


class BlockPool:
    """`num_blocks` blocks with reference counts; a released block keeps its content until it is reused.

    Free blocks are in order of reuse: blocks without published content first, then by time of release. A
    published block is found by its hash until it is allocated again.

    With `needs_checkpoints`, events list only blocks up to a checkpoint (see `StatePool`): others are not reused.
    """

    def __init__(self, num_blocks: int, *, needs_checkpoints: bool = False) -> None:
        self.num_blocks = num_blocks
        self._needs_checkpoints = needs_checkpoints
        self._num_checkpoints: Counter[BlockHash] = Counter()  # at or after a block
        self._free: OrderedDict[int, None] = OrderedDict.fromkeys(range(num_blocks))
        self._num_references = [0] * num_blocks
        self._hash_of_block: dict[int, BlockHash] = {}
        self._block_of_hash: dict[BlockHash, int] = {}
        self._events: dict[BlockHash, bool] = {}

    @property
    def num_free(self) -> int:
        """Blocks without references, with or without published content."""
        return len(self._free)

    def find_prefix(self, hashes: Sequence[BlockHash]) -> list[int]:
        """Blocks of the longest published prefix of `hashes`; they get no reference."""
        found: list[int] = []
        for block_hash in hashes:
            block = self._block_of_hash.get(block_hash)
            if block is None:
                break
            found.append(block)
        return found

    def num_free_among(self, blocks: Sequence[int]) -> int:
        """Number of free blocks among `blocks`."""
        return sum(1 for block in blocks if not self._num_references[block])

    def hold(self, blocks: Sequence[int]) -> None:
        """Add a reference to each of `blocks`."""
        for block in blocks:
            self._free.pop(block, None)
            self._num_references[block] += 1

    def allocate(self, num_blocks: int) -> list[int]:
        """Take `num_blocks` free blocks, with one reference each, and remove their content from the prefix cache."""
        assert num_blocks <= self.num_free, "ask num_free first"
        blocks = [self._free.popitem(last=False)[0] for _ in range(num_blocks)]
        for block in blocks:
            self._num_references[block] = 1
            block_hash = self._hash_of_block.pop(block, None)
            if block_hash is not None:
                del self._block_of_hash[block_hash]
                if self._is_reusable(block_hash):
                    self._record_event(block_hash, False)
        return blocks

    def publish(self, block: int, block_hash: BlockHash) -> None:
        """Register the content of a held block; of two blocks with one content only the first is found."""
        assert self._num_references[block] > 0, "a free block's content may be overwritten"
        if block not in self._hash_of_block and block_hash not in self._block_of_hash:
            self._hash_of_block[block] = block_hash
            self._block_of_hash[block_hash] = block
            if self._is_reusable(block_hash):
                self._record_event(block_hash, True)

    def cover(self, hashes: Iterable[BlockHash]) -> None:
        """There is a checkpoint after these blocks."""
        for block_hash in hashes:
            self._num_checkpoints[block_hash] += 1
            if self._num_checkpoints[block_hash] == 1 and block_hash in self._block_of_hash:
                self._record_event(block_hash, True)

    def uncover(self, hashes: Iterable[BlockHash]) -> None:
        """Record that a checkpoint after these blocks was evicted."""
        for block_hash in hashes:
            self._num_checkpoints[block_hash] -= 1
            if not self._num_checkpoints[block_hash]:
                del self._num_checkpoints[block_hash]
                if block_hash in self._block_of_hash:
                    self._record_event(block_hash, False)

    def take_events(self) -> CacheEvents:
        """Changes of the prefix cache since the last call, at most MAX_EVENTS."""
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
        self._events = dict.fromkeys(filter(self._is_reusable, self._block_of_hash), True)

    def release(self, block_table: Sequence[int]) -> None:
        """Drop a reference to each block of a sequence; the end of a prefix is reused before its beginning."""
        for block in reversed(block_table):
            self._num_references[block] -= 1
            assert self._num_references[block] >= 0, "released more often than held"
            if self._num_references[block] == 0:
                self._free[block] = None
                if block not in self._hash_of_block:
                    self._free.move_to_end(block, last=False)

    def _is_reusable(self, block_hash: BlockHash) -> bool:
        return not self._needs_checkpoints or block_hash in self._num_checkpoints

    def _record_event(self, block_hash: BlockHash, is_known: bool) -> None:
        """Record a change; a change that undoes a pending one cancels it."""
        if self._events.pop(block_hash, is_known) == is_known:
            self._events[block_hash] = is_known
