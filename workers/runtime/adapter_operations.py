"""Products of adapters: what a sequence's adapter adds to a product of the model, in two operations.

DOWN multiplies the rows of a product by thin matrices, to one short row each; UP multiplies these short rows and adds
the results to the columns of the product. Adjacent rows of one adapter are multiplied together.
"""

from __future__ import annotations

from typing import Any

from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.kernels.thin_products import OUTPUTS, ROWS_OF_TILE, elements_of_pair, multiply_thin
from cactus_actors.workers.runtime.op_codes import OpCode, RowKind
from cactus_actors.workers.runtime.step_arguments import (
    DOWN_BLOCKS,
    DOWN_START,
    UP_BLOCKS,
    UP_COLUMN,
    UP_FIRST_BLOCK,
    UP_PAIRS,
    UP_START,
    AdapterArrays,
    StepInputs,
    Workspace,
)

ADAPTER_DOWN, LOGITS = int(OpCode.ADAPTER_DOWN), int(RowKind.LOGITS)


@internal(error_model="numpy")
def multiply_by_adapters(
    op: Any,
    adapters: AdapterArrays,
    step: StepInputs,
    work: Workspace,
    first: int,
    last: int,
    is_shared: bool,
    share: int,
    size: int,
) -> None:
    """Run the operation on the rows from `first` to before `last`, or a share of it."""
    shares, share = (size, share) if is_shared else (1, 0)
    num_tasks = 0
    row = first
    while row < last:
        slot = _slot_of(op, row, step)
        end = row + 1
        while end < last and _slot_of(op, end, step) == slot:
            end += 1
        if slot >= 0 and op.code == ADAPTER_DOWN:
            num_tasks = _multiply_down(op, adapters, slot, work, row, end, num_tasks, share, shares)
        elif slot >= 0:
            _multiply_up(op, adapters, slot, work, row, end, share, shares)
        row = end


@internal(error_model="numpy", inline="always")
def _slot_of(op: Any, row: int, step: StepInputs) -> Any:
    """The slot of the adapter of a row."""
    return step.adapters[step.logit_rows[row]] if op.rows == LOGITS else step.adapters[row]


@internal(error_model="numpy")
def _multiply_down(
    op: Any,
    adapters: AdapterArrays,
    slot: int,
    work: Workspace,
    first: int,
    last: int,
    num_tasks: int,
    share: int,
    shares: int,
) -> Any:
    """Run every task that falls to this share; returns the number of tasks so far, of all shares."""
    num_pairs = (op.num_columns + 1) // 2
    block_size = num_pairs * elements_of_pair(adapters.data)
    start = adapters.downs[slot, op.site, DOWN_START]
    for block in range(adapters.downs[slot, op.site, DOWN_BLOCKS]):
        for row in range(first, last, ROWS_OF_TILE):
            if num_tasks % shares == share:
                multiply_thin(
                    adapters.data,
                    start + block * block_size,
                    num_pairs,
                    work.floats,
                    work.starts[op.source] + row * op.source_width,
                    op.source_width,
                    work.floats,
                    work.starts[op.target] + row * op.target_width + block * OUTPUTS,
                    op.target_width,
                    min(ROWS_OF_TILE, last - row),
                    False,
                )
            num_tasks += 1
    return num_tasks


@internal(error_model="numpy")
def _multiply_up(
    op: Any, adapters: AdapterArrays, slot: int, work: Workspace, first: int, last: int, share: int, shares: int
) -> None:
    """Add to the blocks of the product that fall to this share; no two threads write the same block."""
    num_blocks = (op.count + OUTPUTS - 1) // OUTPUTS
    begin, end = num_blocks * share // shares, num_blocks * (share + 1) // shares
    for each in range(adapters.ups.shape[2]):
        num_pairs = adapters.ups[slot, op.site, each, UP_PAIRS]
        block_size = num_pairs * elements_of_pair(adapters.data)
        start, column = adapters.ups[slot, op.site, each, UP_START], adapters.ups[slot, op.site, each, UP_COLUMN]
        first_block = adapters.ups[slot, op.site, each, UP_FIRST_BLOCK]
        end_block = first_block + adapters.ups[slot, op.site, each, UP_BLOCKS]
        for block in range(max(begin, first_block), min(end, end_block)):
            for row in range(first, last, ROWS_OF_TILE):
                multiply_thin(
                    adapters.data,
                    start + (block - first_block) * block_size,
                    num_pairs,
                    work.floats,
                    work.starts[op.source] + row * op.source_width + column,
                    op.source_width,
                    work.floats,
                    work.starts[op.target] + row * op.target_width + block * OUTPUTS,
                    op.target_width,
                    min(ROWS_OF_TILE, last - row),
                    True,
                )
