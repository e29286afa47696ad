"""Arguments of the compiled step: named tuples of arrays and numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray

NUM_TOKENS, NUM_LOGITS, NUM_GROUPS, NUM_SEQUENCES, GRID_COLUMNS = range(5)
"""Indices of `StepInputs.sizes`; only encoders have a grid, of patches."""

FIRST_TOKEN, END_OF_KNOWN, END_OF_DRAFTS, SOURCE_SLOT, SLOT, SAVE_AT, SAVE_SLOT = range(7)
"""Columns of `StepInputs.states`: tokens of the step, and slots of the cache."""

DOWN_START, DOWN_BLOCKS = range(2)
UP_START, UP_BLOCKS, UP_FIRST_BLOCK, UP_COLUMN, UP_PAIRS = range(5)
"""Columns of `AdapterArrays`: the first element, and blocks of outputs. The first block of the product is that of
`UP_FIRST_BLOCK`; inputs are UP_PAIRS pairs from column UP_COLUMN of the thin product on."""


class ModelShape(NamedTuple):
    """The numbers of a ModelConfig that compiled code reads and that no single operation has."""

    norm_eps: float


class PackedWeights(NamedTuple):
    """Arenas; a format's tuple picks its kernels when the step is compiled."""

    body: Any
    head: Any  # embedding, output, routers
    vectors: NDArray[Any]  # float32


class RotaryArrays(NamedTuple):
    """Cosines and sines of every rope, position and pair of lanes."""

    cosines: NDArray[Any]
    sines: NDArray[Any]
    starts: NDArray[Any]  # (ropes,) first entry of each
    dims: NDArray[Any]  # (ropes,) rotated lanes of a head, twice the entries of a position


class StepInputs(NamedTuple):
    """A Batch, copied to fixed arrays, and the tiles of tokens for attention, in groups."""

    sizes: NDArray[Any]  # int64: NUM_TOKENS, NUM_LOGITS, NUM_GROUPS, NUM_SEQUENCES
    token_ids: NDArray[Any]  # (max_tokens,)
    positions: NDArray[Any]  # (max_tokens,)
    rotary_rows: NDArray[Any]  # (max_tokens,) of the rotary tables; positions, unless the tables are those of the step
    sequence_of_token: NDArray[Any]  # (max_tokens,)
    block_tables: NDArray[Any]  # (max_sequences, max_blocks)
    logit_rows: NDArray[Any]  # (max_rows,)
    tiles: NDArray[Any]  # (max_tokens, 2) a run of tokens of one sequence each: the first, and the end
    groups: NDArray[Any]  # (max_tokens, 3) tiles that share blocks: the first, the end, and the number of these blocks
    states: NDArray[Any]  # (max_sequences, 7) FIRST_TOKEN ...; read by recurrences only
    adapters: NDArray[Any]  # (max_tokens,) slots, -1 for none; read by products of adapters only
    ends: NDArray[Any]  # (max_tokens,) last positions attended to; read by attention to later positions
    is_given: NDArray[Any]  # (max_tokens,) 1 for tokens with a given embedding; empty in models of text
    given: NDArray[Any]  # (max_tokens, hidden and features) given embeddings; empty in models of text


class Workspace(NamedTuple):
    """Memory between operations; buffers are in two arenas at `starts`."""

    floats: NDArray[Any]
    encoded: NDArray[Any]
    starts: NDArray[Any]  # (buffers,)
    strides: NDArray[Any]  # (buffers,) of those with rows for a task of each thread; 0 for the others
    places: NDArray[Any]  # (ranks, buffers) where `starts` are for a rank in its task
    scratch: NDArray[Any]  # (ranks * scratch_size,) of attention
    scratch_size: int
    barrier: NDArray[Any]
    tasks: NDArray[Any]  # (operations * (2 * ranks + 2),) counters, zero between steps; see `compiled_step.py`


class AdapterArrays(NamedTuple):
    """The packed matrices of all adapters (see `kernels/thin_products.py`), and where those of a site are.

    A site is a product of the model. Its `downs` are DOWN_START ..., one matrix for all of its modules; its `ups` are
    UP_START ..., one matrix for each range of columns, those that exist first.
    """

    data: NDArray[Any]
    downs: NDArray[Any]  # (slots, sites, 2)
    ups: NDArray[Any]  # (slots, sites, ranges, 5)


class ExpertChoices(NamedTuple):
    """The experts chosen for the tokens of a step; a choice is a token and one of its experts."""

    num_chosen: int  # experts for each token
    ids: NDArray[Any]  # (choices,)
    weights: NDArray[Any]  # (choices,) float32
    starts: NDArray[Any]  # (experts + 1,) first sorted choice of each expert
    choice_at: NDArray[Any]  # (choices,) the choice at each index of that order
    place_of: NDArray[Any]  # the inverse
