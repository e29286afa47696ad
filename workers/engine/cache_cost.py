"""The memory of a cache: of its blocks, and of its slots for recurrent states."""

from __future__ import annotations

from dataclasses import dataclass

from cactus_actors.protocol.errors import ConfigurationInvalid


@dataclass(frozen=True, slots=True)
class CacheCost:
    """Bytes of one block and of one recurrent state, each over all layers of a model.

    A block has the keys and values of its tokens, and the inputs of short convolutions. `state_bytes` is 0 for a
    model without recurrences, which needs no slots.
    """

    block_bytes: int
    state_bytes: int = 0

    def bytes_of(self, num_blocks: int, num_states: int) -> int:
        """Memory of a cache, once all of it has been written."""
        return num_blocks * self.block_bytes + num_states * self.state_bytes

    def num_blocks_in(self, max_bytes: int, num_states: int) -> int:
        """The most blocks that fit `max_bytes` after the states; raises ConfigurationInvalid if there is none."""
        num_blocks = (max_bytes - self.bytes_of(0, num_states)) // self.block_bytes
        if num_blocks < 1:
            states = f"{num_states} recurrent states of {self.state_bytes} bytes and " if self.state_bytes else ""
            raise ConfigurationInvalid(
                f"cache_bytes is {max_bytes}, but {states}a block of {self.block_bytes} bytes must fit; "
                f"the least is {self.bytes_of(1, num_states)}",
                param="cache_bytes",
            )
        return num_blocks
