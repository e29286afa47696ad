"""The tokens of one step, laid out for the model."""

from __future__ import annotations

from collections.abc import Sequence as Ordered
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workers.sequence import Sequence


@dataclass(frozen=True, slots=True)
class Chunk:
    """The next `num_tokens` uncomputed tokens of one sequence."""

    sequence: Sequence
    num_tokens: int

    @property
    def wants_logits(self) -> bool:
        """Whether it ends at the sequence's last token and a new token is to be sampled after it."""
        catches_up = self.sequence.num_computed_tokens + self.num_tokens == self.sequence.num_tokens
        return catches_up and self.sequence.num_tokens_left > 0


@dataclass(frozen=True, slots=True)
class Batch:
    """What `Model.forward` reads; the tokens of one sequence lie together, in order of position.

    A token attends to the positions up to its own, whose keys and values stand in the blocks of its
    sequence's table: position p in block `block_tables[s, p // block_size]` at offset `p % block_size`.
    Unused table entries are 0. There may be no logit row at all.
    """

    token_ids: NDArray[np.int32]  # (tokens,)
    positions: NDArray[np.int32]  # (tokens,)
    sequence_of_token: NDArray[np.int32]  # (tokens,) row of block_tables
    block_tables: NDArray[np.int32]  # (sequences, max_blocks)
    logit_rows: NDArray[np.int32]  # (rows,) indices into tokens

    @classmethod
    def of(cls, chunks: Ordered[Chunk]) -> Batch:
        """The batch of these chunks, one row of logits for each that samples, in the same order."""
        lengths = np.array([chunk.num_tokens for chunk in chunks], dtype=np.int32)
        ends = np.cumsum(lengths, dtype=np.int32)
        num_tokens = int(ends[-1])
        token_ids = np.empty(num_tokens, dtype=np.int32)
        positions = np.empty(num_tokens, dtype=np.int32)
        max_blocks = max(len(chunk.sequence.block_table) for chunk in chunks)
        block_tables = np.zeros((len(chunks), max_blocks), dtype=np.int32)
        for row, (chunk, end) in enumerate(zip(chunks, ends.tolist(), strict=True)):
            sequence, first = chunk.sequence, chunk.sequence.num_computed_tokens
            span = slice(end - chunk.num_tokens, end)
            token_ids[span] = sequence.token_ids[first : first + chunk.num_tokens]
            positions[span] = np.arange(first, first + chunk.num_tokens)
            block_tables[row, : len(sequence.block_table)] = sequence.block_table
        return cls(
            token_ids=token_ids,
            positions=positions,
            sequence_of_token=np.repeat(np.arange(len(chunks), dtype=np.int32), lengths),
            block_tables=block_tables,
            logit_rows=np.array(
                [end - 1 for chunk, end in zip(chunks, ends.tolist(), strict=True) if chunk.wants_logits],
                dtype=np.int32,
            ),
        )
