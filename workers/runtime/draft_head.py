"""The head that drafts tokens: a program over one token of each sequence, on the cache of the model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cactus_actors.workers.engine.kv_cache import KVCache
from cactus_actors.workers.engine.model import DraftRows, Guesses
from cactus_actors.workers.kernels.thread_team import ThreadTeam
from cactus_actors.workers.runtime.attention_groups import groups_of_one
from cactus_actors.workers.runtime.op_codes import OpCode, RowKind
from cactus_actors.workers.runtime.program import Program
from cactus_actors.workers.runtime.step_arguments import (
    AdapterArrays,
    ModelShape,
    PackedWeights,
    RotaryArrays,
    StepInputs,
)
from cactus_actors.workers.runtime.workspace import new_choices, new_workspace
from cactus_actors.workers.spec.model_config import ModelConfig
from cactus_actors.workers.spec.rotary import RotaryTables

COMMON_TOKENS = 1 << 16
"""Tokens of a large vocabulary that are most common, a multiple of the outputs of a block in every format.

A vocabulary of byte pairs has the pairs in the order in which they were merged: common ones first.
"""


def as_far_as_logits(program: Program, num_tokens: int) -> NDArray[Any]:
    """The operations of a program without statistics, for the logits of the first tokens of the vocabulary."""
    records = program.operations[:-1].copy()
    assert program.operations["code"][-1] == OpCode.LOGIT_STATS, "it comes last"
    assert records["code"][-1] == OpCode.MATMUL, "nothing changes the logits"
    records["num_rows"][-1] = num_tokens
    records["barrier"][-1] = True
    records["run_end"] = np.minimum(records["run_end"], len(records))
    return records


class DraftHead:
    """Runs the head of a model on its threads, with its weights, its cache and its compiled step.

    Guesses of a row are the same bits in any batch and for any number of threads. One caller at a time.
    """

    def __init__(
        self,
        config: ModelConfig,
        program: Program,
        weights: PackedWeights,
        tables: RotaryTables,
        rotary: RotaryArrays,
        *,
        adapters: AdapterArrays,
        team: ThreadTeam,
        scratch_size: int,
    ) -> None:
        self._config = config
        self._shape = ModelShape(config.norm_eps)
        self._program = program
        self.num_common = COMMON_TOKENS if config.vocab_size >= 2 * COMMON_TOKENS else config.vocab_size
        self._operations = as_far_as_logits(program, config.vocab_size)
        self._common = as_far_as_logits(program, self.num_common)
        self._weights = weights
        self._tables, self._rotary = tables, rotary
        self._adapters = adapters  # not used: an adapter changes the hidden states that the head reads
        self._team = team
        self._scratch_size = scratch_size
        self._max_rows = self._max_blocks = 0
        self._make_room(1, 1)

    def guess(self, rows: DraftRows, cache: KVCache, *, is_common: bool = False) -> Guesses:
        """Logits of the tokens after these, and hidden states for the rows after them; views until the next call.

        Writes the keys and values of the head's layer at the rows' positions.
        """
        num_rows, num_blocks = rows.block_tables.shape
        assert rows.token_ids.view(np.uint32).max() < self._config.vocab_size, "token id outside the vocabulary"
        for positions in (rows.positions, rows.rotary_positions):
            assert positions.view(np.uint32).max() < self._config.max_context, "position outside the context"
        self._make_room(num_rows, num_blocks)
        self._tables.cover(int(rows.rotary_positions.max()) + 1)
        step = self._step
        step.sizes[:] = num_rows
        step.token_ids[:num_rows] = rows.token_ids
        step.positions[:num_rows] = rows.positions
        step.rotary_rows[:num_rows] = rows.rotary_positions
        step.block_tables[:num_rows, :num_blocks] = rows.block_tables
        (given,) = self._program.inputs
        target = self._rows_of(given, num_rows)
        width = self._config.hidden_size
        target[:, :width] = rows.hidden
        target[:, width:] = 0
        self._team.run(
            self._common if is_common else self._operations,
            self._shape,
            self._weights,
            self._rotary,
            step,
            cache.arrays,
            self._choices,
            self._adapters,
            self._workspace,
            None,
        )
        num_columns = self.num_common if is_common else self._config.vocab_size
        logits = self._rows_of(self._program.logits, num_rows)[:, :num_columns]
        return Guesses(logits, self._rows_of(self._program.hidden, num_rows)[:, :width])

    def _rows_of(self, index: int, num_rows: int) -> NDArray[np.float32]:
        """The first rows of a buffer with their padding, a view."""
        width, start = self._program.buffers[index].width, int(self._workspace.starts[index])
        return self._workspace.floats[start : start + width * num_rows].reshape(num_rows, width)

    def _make_room(self, num_rows: int, num_blocks: int) -> None:
        """Provide memory for that many rows and blocks of a sequence; it grows and never shrinks."""
        if num_rows <= self._max_rows and num_blocks <= self._max_blocks:
            return
        max_rows, max_blocks = max(num_rows, self._max_rows), max(2 * num_blocks, self._max_blocks)
        choices = new_choices(self._config.experts, max_rows)
        workspace = new_workspace(
            self._program.buffers,
            {RowKind.TOKENS: max_rows, RowKind.LOGITS: max_rows, RowKind.CHOICES: len(choices.ids)},
            threads=self._team.size,
            scratch_size=self._scratch_size,
            num_operations=len(self._program.operations),
        )
        self._step = _new_step(self._config, max_rows, max_blocks)
        self._choices, self._workspace = choices, workspace
        self._max_rows, self._max_blocks = max_rows, max_blocks


def _new_step(config: ModelConfig, num_rows: int, num_blocks: int) -> StepInputs:
    """The inputs of a step in which each row is a token of another sequence, and has logits."""
    rows = np.arange(num_rows, dtype=np.int32)
    num_given = 0 if config.vision is None else num_rows  # no row is that of a picture
    return StepInputs(
        sizes=np.zeros(4, np.int64),
        token_ids=np.zeros(num_rows, np.int32),
        positions=np.zeros(num_rows, np.int32),
        rotary_rows=np.zeros(num_rows, np.int32),
        sequence_of_token=rows.copy(),
        block_tables=np.zeros((num_rows, num_blocks), np.int32),
        logit_rows=rows.copy(),
        tiles=np.stack([rows, rows + 1], axis=1),
        groups=groups_of_one(num_rows),
        states=np.zeros((num_rows, 7), np.int64),
        adapters=np.full(num_rows, -1, np.int32),
        ends=np.zeros(0, np.int32),
        is_given=np.zeros(num_given, np.int32),
        given=np.zeros((num_given, config.hidden_size), np.float32),
    )
