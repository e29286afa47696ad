"""State slots: one for each running sequence, the others for checkpoints of the prefix cache."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cactus_actors.workers.engine.block_pool import BlockPool
from cactus_actors.workers.engine.sequence import BlockHash, SequenceState


class Checkpoint(NamedTuple):
    """A saved state: its slot, and the hashes of all blocks before it."""

    slot: int
    hashes: tuple[BlockHash, ...]


@dataclass(frozen=True, kw_only=True)
class StateLimits:
    """Slots of a pool, and tokens from one checkpoint to the next, a multiple of the block size."""

    num_slots: int
    checkpoint_tokens: int


class StatePool:
    """Slots that hold the recurrent state of one sequence at one position each.

    A running sequence has the slot with the state after its computed tokens. A checkpoint is the state at the
    end of a block, found by the hash of that block; the least recently used one is evicted when a slot is
    needed. A checkpoint that a sequence reads in its next step is held until then.
    """

    def __init__(self, limits: StateLimits, block_pool: BlockPool) -> None:
        self.checkpoint_tokens = limits.checkpoint_tokens
        self._block_pool = block_pool
        self._free = list(range(limits.num_slots))[::-1]
        self._checkpoints: OrderedDict[BlockHash, Checkpoint] = OrderedDict()  # least recently used first
        self._num_readers: Counter[int] = Counter()  # by slot of a checkpoint

    @property
    def num_free(self) -> int:
        """Slots that no sequence has, with or without a checkpoint."""
        return len(self._free) + len(self._checkpoints)

    def num_reusable(self, hashes: Sequence[BlockHash]) -> int:
        """Number of the first blocks of `hashes` that end in a checkpoint, the most there is one for."""
        for num_blocks in range(len(hashes), 0, -1):
            if hashes[num_blocks - 1] in self._checkpoints:
                return num_blocks
        return 0

    def has_checkpoint(self, block_hash: BlockHash) -> bool:
        """True if the state at the end of this block is saved; it counts as used."""
        if block_hash not in self._checkpoints:
            return False
        self._checkpoints.move_to_end(block_hash)
        return True

    def start(self, block_hash: BlockHash | None) -> SequenceState | None:
        """The state of a new sequence, from a checkpoint or from zero; None if no slot can be had now."""
        source = -1
        if block_hash is not None:
            source = self._checkpoints[block_hash].slot
            self._checkpoints.move_to_end(block_hash)
            self._num_readers[source] += 1
        slot = self._take_slot()
        if slot is None:
            self._stop_reading(source)
            return None
        return SequenceState(slot=slot, source=source)

    def begin_save(self, state: SequenceState) -> bool:
        """Take a slot to which the next step saves the state on its way; returns False if none can be had."""
        assert state.save_slot is None, "one save a step"
        state.save_slot = self._take_slot()
        return state.save_slot is not None

    def commit(self, state: SequenceState, hashes: Sequence[BlockHash]) -> None:
        """Record that a step has advanced the state; a saved state is that after the blocks of `hashes`."""
        self._stop_reading(state.source)
        state.source = state.slot
        if state.save_slot is None:
            return
        if self.has_checkpoint(hashes[-1]):  # another sequence saved the same in this step
            self._free.append(state.save_slot)
        else:
            self._checkpoints[hashes[-1]] = Checkpoint(state.save_slot, tuple(hashes))
            self._block_pool.cover(hashes)
        state.save_slot = None

    def release(self, state: SequenceState) -> None:
        """Free the slots of a sequence that no longer runs."""
        self._stop_reading(state.source)
        self._free.append(state.slot)
        if state.save_slot is not None:
            self._free.append(state.save_slot)

    def _stop_reading(self, slot: int) -> None:
        if slot in self._num_readers:
            self._num_readers[slot] -= 1
            self._num_readers += Counter()  # drops zeros

    def _take_slot(self) -> int | None:
        """A free slot, or that of the least recently used checkpoint that no sequence reads."""
        if self._free:
            return self._free.pop()
        for block_hash, checkpoint in self._checkpoints.items():
            if checkpoint.slot not in self._num_readers:
                del self._checkpoints[block_hash]
                self._block_pool.uncover(checkpoint.hashes)
                return checkpoint.slot
        return None
