"""The tokens of one step, laid out for the model."""

from __future__ import annotations

from collections.abc import Sequence as Ordered
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from workers.sequence import Sequence


@dataclass(slots=True)
class Chunk:
    """The next `num_tokens` uncomputed tokens of one sequence, and `num_drafts` guesses at what follows them.

    A chunk that ends at the sequence's last token has a row of logits for it and for each draft, if more
    tokens may be sampled; no other has drafts. They stand in the sequence behind its known tokens.
    """

    sequence: Sequence
    num_tokens: int
    num_drafts: int = 0
    num_rows: int = field(init=False)

    def __post_init__(self) -> None:
        sequence = self.sequence
        catches_up = sequence.num_computed_tokens + self.num_tokens == sequence.num_tokens
        self.num_rows = 1 + self.num_drafts if catches_up and sequence.num_tokens_left > 0 else 0


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
        """The batch of these chunks, with the rows of logits of each in the same order."""
        spans: list[NDArray[np.int32]] = []
        positions: list[int] = []
        rows: list[int] = []
        logit_rows: list[int] = []
        max_blocks = max(len(chunk.sequence.block_table) for chunk in chunks)
        block_tables = np.zeros((len(chunks), max_blocks), dtype=np.int32)
        for row, chunk in enumerate(chunks):
            sequence, first = chunk.sequence, chunk.sequence.num_computed_tokens
            num_tokens = chunk.num_tokens + chunk.num_drafts
            spans.append(sequence.span(first, first + num_tokens))
            positions += range(first, first + num_tokens)
            rows += [row] * num_tokens
            if chunk.num_rows:
                logit_rows += range(len(rows) - chunk.num_rows, len(rows))
            block_tables[row, : len(sequence.block_table)] = sequence.block_table
        return cls(
            token_ids=np.concatenate(spans),
            positions=np.array(positions, dtype=np.int32),
            sequence_of_token=np.array(rows, dtype=np.int32),
            block_tables=block_tables,
            logit_rows=np.array(logit_rows, dtype=np.int32),
        )
