"""The compiled step: every thread runs the operations of a program over the tokens of a batch.

Operations between two barriers are a phase, of which each thread has a share: with few tokens, some rows, columns or
tasks of each operation; with many, a thread takes some rows at a time through a whole run of operations, so that they
stay in its cache. A phase is complete when all shares are, whoever has computed them: a thread whose core is taken by
another program leaves its shares to the others, and goes on with them in the phase that they have reached.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cactus_actors.workers.kernels.barrier import (
    claims_left_share,
    cycles,
    follow,
    next_task,
    notify,
    wait,
    wait_for,
)
from cactus_actors.workers.kernels.compile_cache import cached_njit
from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.kernels.logit_chunks import PART
from cactus_actors.workers.kernels.softmax import compute_logit_stats
from cactus_actors.workers.runtime.adapter_operations import multiply_by_adapters
from cactus_actors.workers.runtime.attention_tasks import attend_in_tasks
from cactus_actors.workers.runtime.expert_operations import run_experts
from cactus_actors.workers.runtime.matmul_tasks import multiply
from cactus_actors.workers.runtime.op_codes import OpCode, RowKind
from cactus_actors.workers.runtime.program import MOST_ROWS_OF_TASK, ROWS_OF_TASK, ROWS_TOGETHER
from cactus_actors.workers.runtime.recurrence_tasks import recur_in_tasks
from cactus_actors.workers.runtime.row_operations import work_on_row
from cactus_actors.workers.runtime.step_arguments import (
    NUM_LOGITS,
    NUM_TOKENS,
    AdapterArrays,
    ExpertChoices,
    ModelShape,
    PackedWeights,
    RotaryArrays,
    StepInputs,
    Workspace,
)

CAUSAL_CONV, DELTA_RULE, SCAN = map(int, (OpCode.CAUSAL_CONV, OpCode.DELTA_RULE, OpCode.SELECTIVE_SCAN))
SHIFT = int(OpCode.SHIFT)
MATMUL, ATTEND, LOGIT_STATS, GROUP = map(int, (OpCode.MATMUL, OpCode.ATTEND, OpCode.LOGIT_STATS, OpCode.GROUP))
ADAPTER_DOWN = int(OpCode.ADAPTER_DOWN)
LOGITS, CHOICES = int(RowKind.LOGITS), int(RowKind.CHOICES)

FETCHED_BYTES = 128 * 1024
"""Bytes of its share of the next matrix that a thread prefetches, at most, while it waits for others."""


@cached_njit(Path(__file__).parent, nogil=True, error_model="numpy")
def step_of_rank(
    rank: int,
    size: int,
    signal: Any,
    seen: int,
    operations: Any,
    shape: ModelShape,
    weights: PackedWeights,
    rotary: RotaryArrays,
    step: StepInputs,
    cache: Any,
    choices: ExpertChoices,
    adapters: AdapterArrays,
    work: Workspace,
    profile: Any,
) -> None:
    """Run a step on one rank of a team.

    One compiled step runs every family: `choices` has no room in a model without experts, nor has the cache
    for states in one without short convolutions and recurrences; `adapters` is empty before one is loaded.
    `profile`, if it is not None, is (ranks, operations, 2) int64: every rank adds the cycles that it spends in
    each operation, and waiting after it.
    """
    while True:
        if rank == 0:
            notify(signal)
        else:
            seen = follow(signal, seen)
            if seen < 0:
                return
        own = _of_rank(work, rank)
        _set_places(work, rank, 0)
        fetched = 0  # bytes of the next matrix's share
        begin = 0
        while begin < len(operations):
            num_rows = _num_rows(operations[begin], step, choices)
            is_dealt = operations[begin].run_end > 0 and num_rows >= size * ROWS_OF_TASK
            end = operations[begin].run_end if is_dealt else _end_of_phase(operations, begin)
            num_complete = len(operations) * (2 * size + 1) + begin  # the counter of this phase
            for turn in range(size):
                share = (rank + turn) % size
                if not _claims(work, len(operations), begin, share, turn, size):
                    continue
                first, last = 0, num_rows
                while first < num_rows:
                    if is_dealt:
                        task = next_task(work.tasks, len(operations) * size + begin)
                        first = _first_row_of_task(num_rows, task, size)
                        last = _first_row_of_task(num_rows, task + 1, size)
                        _set_places(work, rank, rank * MOST_ROWS_OF_TASK - first if first < num_rows else 0)
                    for index in range(begin, end if first < num_rows else begin):
                        op = operations[index]
                        code = op.code
                        if profile is not None:
                            profile[rank, index, 0] -= cycles()
                        if code == MATMUL:
                            fetched = 0
                            multiply(op, index, weights, own, first, last, not is_dealt, share, size)
                        elif code == ATTEND:
                            attend_in_tasks(op, index, weights.vectors, step, cache, own, rank, size)
                        elif code == LOGIT_STATS:
                            _compute_logit_stats(op, num_rows, own, share, size)
                        elif code in (CAUSAL_CONV, DELTA_RULE, SCAN, SHIFT):
                            recur_in_tasks(op, index, weights, step, cache.slots, own, rank, size)
                        elif code >= ADAPTER_DOWN:
                            multiply_by_adapters(op, adapters, step, own, first, last, not is_dealt, share, size)
                        elif code >= GROUP:
                            run_experts(op, weights, step, choices, own, share, size)
                        else:
                            top, bottom, part, parts = first, last, 0, 1
                            if not is_dealt and op.is_sliced and num_rows < size * op.rows_together:
                                part, parts = share, size
                            elif not is_dealt:
                                top = _first_row(num_rows, op.rows_together, share, size)
                                bottom = _first_row(num_rows, op.rows_together, share + 1, size)
                            for row in range(top, bottom):
                                work_on_row(
                                    op,
                                    row,
                                    num_rows,
                                    part,
                                    parts,
                                    shape,
                                    weights,
                                    rotary,
                                    step,
                                    cache,
                                    choices,
                                    own,
                                )
                        if profile is not None:
                            profile[rank, index, 0] += cycles()
                    if not is_dealt:
                        break
                next_task(work.tasks, num_complete)
            if profile is not None:
                profile[rank, end - 1, 1] -= cycles()
            fetched = _meet(operations[end - 1], fetched, weights, work, num_complete, rank, size)
            if profile is not None:
                profile[rank, end - 1, 1] += cycles()
            begin = end
        wait(work.barrier, size)
        if rank == 0:
            for counter in range(len(operations) * (2 * size + 2)):
                work.tasks[counter] = 0
            return


@internal(error_model="numpy", inline="always")
def _of_rank(work: Workspace, rank: int) -> Workspace:
    """The workspace with the places of a rank as its starts."""
    return Workspace(
        work.floats,
        work.encoded,
        work.places[rank],
        work.strides,
        work.places,
        work.scratch,
        work.scratch_size,
        work.barrier,
        work.tasks,
    )


@internal(error_model="numpy")
def _set_places(work: Workspace, rank: int, num_rows: int) -> None:
    """Shift a rank's rows of a task by a number of rows."""
    for buffer in range(len(work.starts)):
        work.places[rank, buffer] = work.starts[buffer] + num_rows * work.strides[buffer]


@internal(error_model="numpy", inline="always")
def _end_of_phase(operations: Any, begin: int) -> Any:
    """The operation before which all shares of a phase must be complete."""
    end = begin + 1
    while not operations[end - 1].barrier:
        end += 1
    return end


@internal(error_model="numpy", inline="always")
def _claims(work: Workspace, num_operations: int, phase: int, share: int, turn: int, size: int) -> Any:
    """Claim a share of a phase, in its turn: a thread's own comes first; False if another thread has it."""
    index = num_operations * (size + 1 + share) + phase
    return claims_left_share(work.tasks, index) if turn else next_task(work.tasks, index) == 0


@internal(error_model="numpy", inline="always")
def _meet(op: Any, fetched: int, weights: PackedWeights, work: Workspace, counter: int, rank: int, size: int) -> Any:
    """Wait until a phase is complete, and prefetch the share of the next matrix; returns the bytes fetched so far."""
    start = op.next_start + op.next_bytes * rank // size
    data = weights.head.data if op.next_is_head else weights.body.data
    return wait_for(work.tasks, counter, size, data, start + fetched, start + FETCHED_BYTES) - start


@internal(error_model="numpy", inline="always")
def _num_rows(op: Any, step: StepInputs, choices: ExpertChoices) -> Any:
    if op.rows == LOGITS:
        return step.sizes[NUM_LOGITS]
    num_tokens = step.sizes[NUM_TOKENS]
    if op.rows == CHOICES:
        return num_tokens * choices.num_chosen
    return num_tokens


@internal(error_model="numpy", inline="always")
def _first_row(num_rows: int, rows_together: int, share: int, size: int) -> int:
    """The first row of a share."""
    return min(num_rows, -(-num_rows * share // (size * rows_together)) * rows_together)


@internal(error_model="numpy", inline="always")
def _first_row_of_task(num_rows: int, task: int, size: int) -> int:
    """The first row of a task. Half ones come last, so that threads end together, and no task is less than a tile."""
    num_whole = num_rows // (size * ROWS_OF_TASK) * size
    row = min(task, num_whole) * ROWS_OF_TASK + max(task - num_whole, 0) * (ROWS_OF_TASK // 2)
    return row if row + ROWS_TOGETHER <= num_rows else num_rows


@internal(error_model="numpy")
def _compute_logit_stats(op: Any, num_rows: int, work: Workspace, share: int, size: int) -> None:
    """Compute the statistics of a share of the columns, most of which the thread has just computed."""
    num_parts = -(-op.num_columns // PART)
    for row in range(num_rows):
        compute_logit_stats(
            work.floats,
            work.starts[op.source] + row * op.source_width,
            op.num_columns,
            num_parts * share // size,
            num_parts * (share + 1) // size,
            work.floats,
            work.starts[op.target] + row * op.target_width,
        )
