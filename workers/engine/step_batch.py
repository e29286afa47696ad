"""The tokens of one step, laid out for the model."""

from __future__ import annotations

from collections.abc import Sequence as Ordered
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from cactus_actors.workers.engine.axis_positions import text_positions
from cactus_actors.workers.engine.sequence import Sequence


@dataclass(slots=True)
class SequenceChunk:
    """The next `num_tokens` uncomputed tokens of one sequence, then `num_drafts` draft tokens.

    A chunk that ends at the sequence's last token has a row of logits for it and for each draft, if more tokens
    may be sampled; no other chunk has drafts. Drafts follow the known tokens of the sequence. Rows of the
    prompt, at the indices `prompt_rows` of the chunk, come before these rows.

    The `num_ahead` known tokens after these are computed as well, because they are those of the same tile of a picture,
    and computed again in the next step, for their rows.

    `save_after`: a recurrent state is saved after that many tokens of the chunk; 0 for no save.
    """

    sequence: Sequence
    num_tokens: int
    num_drafts: int = 0
    save_after: int = 0
    num_ahead: int = 0
    num_rows: int = field(init=False)
    prompt_rows: range = field(init=False)

    def __post_init__(self) -> None:
        sequence, first = self.sequence, self.sequence.num_computed_tokens
        self.prompt_rows = range(0)
        if first < sequence.num_prompt_tokens:
            unread = sequence.prompt_rows
            self.prompt_rows = range(max(unread.start - first, 0), min(unread.stop - first, self.num_tokens))
        catches_up = first + self.num_tokens == sequence.num_tokens
        self.num_rows = 1 + self.num_drafts if catches_up and sequence.num_tokens_left > 0 else 0

    @property
    def tapped_layers(self) -> Ordered[int]:
        """The layers whose hidden state is needed: those of the sequence, if this is the end of its prompt."""
        layers = self.sequence.tapped_layers
        return layers if layers and self.num_rows and self.sequence.num_completion_tokens == 0 else ()

    @property
    def num_in_step(self) -> int:
        """All tokens that the step computes."""
        return self.num_tokens + self.num_ahead + self.num_drafts

    @property
    def state_row(self) -> tuple[int, int, int, int, int]:
        """The sequence's row of `Batch.states`."""
        state = self.sequence.state
        assert state is not None, "the model has recurrences"
        return state.source, state.slot, self.num_tokens, self.save_after, state.save_slot or 0


@dataclass(frozen=True, slots=True)
class Batch:
    """The input of `Model.forward`; the tokens of one sequence are adjacent, in order of position.

    A token attends to the positions up to its own, or up to its entry in `ends` if the model sees whole tiles. Keys
    and values of position p are in block `block_tables[s, p // block_size]` at offset `p % block_size`. Unused table
    entries are 0. There may be no logit row.

    `states` is for models with recurrences: for each sequence the slots of its state (see `SequenceState`), the
    number of known tokens, which advance the state, and that of tokens after which it is saved. Without it, all
    tokens are known, and the sequence of row s of `block_tables` has slot s, which is zero before position 0.

    `adapters` has the slot of each sequence's adapter, -1 for the model itself; None if all are the model's. Adjacent
    sequences of one adapter are faster.

    `given` are the embeddings of the tokens at the indices `given_at`, in the place of those of their ids.

    `rotary_positions` are the positions of all tokens on three axes, for their rotary embeddings; None if these are
    their positions.

    `tapped_layers` are numbers of layers: the hidden states of the rows after so many layers are needed as well.
    """

    token_ids: NDArray[np.int32]  # (tokens,)
    positions: NDArray[np.int32]  # (tokens,)
    sequence_of_token: NDArray[np.int32]  # (tokens,) row of block_tables
    block_tables: NDArray[np.int32]  # (sequences, max_blocks)
    logit_rows: NDArray[np.int32]  # (rows,) indices into tokens
    states: NDArray[np.int32] | None = None  # (sequences, 5): source, slot, num_known, save_after, save_slot
    adapters: NDArray[np.int32] | None = None  # (sequences,)
    given: NDArray[np.float32] | None = None  # (given, hidden), with features beside them if the model has some
    given_at: NDArray[np.intp] | None = None  # (given,)
    ends: NDArray[np.int32] | None = None  # (tokens,)
    rotary_positions: NDArray[np.int32] | None = None  # (tokens, axes)
    tapped_layers: frozenset[int] = frozenset()

    @classmethod
    def of(cls, chunks: Ordered[SequenceChunk]) -> Batch:
        """The batch of these chunks; each has rows of its prompt, then rows of its end."""
        tables = [chunk.sequence.block_table for chunk in chunks]
        block_tables = np.zeros((len(chunks), max(map(len, tables))), dtype=np.int32)
        spans: list[NDArray[np.int32]] = []
        positions: list[int] = []
        rows: list[int] = []
        logit_rows: list[int] = []
        states: list[tuple[int, int, int, int, int]] = []
        adapters: list[int] = []
        tapped_layers: set[int] = set()
        has_pictures = False
        for row, (chunk, table) in enumerate(zip(chunks, tables, strict=True)):
            sequence, num_tokens = chunk.sequence, chunk.num_in_step
            first, start, end = sequence.num_computed_tokens, len(rows), len(rows) + num_tokens
            spans.append(sequence.span(first, first + num_tokens))
            positions += range(first, first + num_tokens)
            rows += [row] * num_tokens
            if chunk.prompt_rows:
                logit_rows += [start + place for place in chunk.prompt_rows]
            logit_rows += range(end - chunk.num_rows, end)
            block_tables[row, : len(table)] = table
            adapters.append(sequence.adapter_slot)
            if sequence.state is not None:
                states.append(chunk.state_row)
            if sequence.tapped_layers:
                tapped_layers.update(chunk.tapped_layers)
            has_pictures |= sequence.pictures is not None
        batch = cls(
            token_ids=np.concatenate(spans),
            positions=np.array(positions, dtype=np.int32),
            sequence_of_token=np.array(rows, dtype=np.int32),
            block_tables=block_tables,
            logit_rows=np.array(logit_rows, dtype=np.int32),
            states=np.array(states, dtype=np.int32) if states else None,
            adapters=np.array(adapters, dtype=np.int32) if max(adapters) >= 0 else None,
            tapped_layers=frozenset(tapped_layers),
        )
        return _with_pictures(batch, chunks) if has_pictures else batch


def _with_pictures(batch: Batch, chunks: Ordered[SequenceChunk]) -> Batch:
    """The batch of chunks of which some have pictures."""
    given: list[NDArray[np.float32]] = []
    given_at: list[NDArray[np.intp]] = []
    start = 0
    for chunk in chunks:
        sequence, first = chunk.sequence, chunk.sequence.num_computed_tokens
        if sequence.pictures is not None and (found := sequence.pictures.within(first, first + chunk.num_in_step)):
            given_at.append(found[0] - first + start)
            given.append(found[1])
        start += chunk.num_in_step
    return replace(
        batch,
        given=np.concatenate(given) if given else None,
        given_at=np.concatenate(given_at) if given else None,
        ends=_ends(chunks, batch.positions),
        rotary_positions=_rotary_positions_of(chunks),
    )


def _ends(chunks: Ordered[SequenceChunk], positions: NDArray[np.int32]) -> NDArray[np.int32] | None:
    """The last position that each token attends to, None if that is always its own."""
    if all(chunk.sequence.whole_tiles is None for chunk in chunks):
        return None
    ends, first = positions.copy(), 0
    for chunk in chunks:
        last, tiles = first + chunk.num_in_step, chunk.sequence.whole_tiles
        if tiles is not None and positions[first] < tiles.end:
            ends[first:last] = tiles.ends_of(positions[first:last])
        first = last
    return ends


def _rotary_positions_of(chunks: Ordered[SequenceChunk]) -> NDArray[np.int32] | None:
    """The positions of all tokens on three axes; None if they are the same on all axes, and those of the tokens."""
    axes = [None if each.sequence.pictures is None else each.sequence.pictures.axes for each in chunks]
    if all(each is None for each in axes):
        return None
    parts = []
    for chunk, own in zip(chunks, axes, strict=True):
        first = chunk.sequence.num_computed_tokens
        end = first + chunk.num_in_step
        parts.append(text_positions(first, end) if own is None else own.within(first, end))
    return np.concatenate(parts)
