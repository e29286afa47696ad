"""Operations of a mixture of experts: choices are sorted by expert, and multiplied an expert at a time."""

from __future__ import annotations

from typing import Any

from cactus_actors.workers.kernels.experts import choose_experts, choose_experts_by_sigmoid, score_experts
from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.kernels.matrix import Matrix, encode_row, matmul, num_blocks
from cactus_actors.workers.runtime.op_codes import OpCode, RowKind
from cactus_actors.workers.runtime.step_arguments import NUM_TOKENS, ExpertChoices, PackedWeights, StepInputs, Workspace

CHOOSE, SCORE = map(int, (OpCode.CHOOSE, OpCode.SCORE))
GROUP, ENCODE_CHOSEN = map(int, (OpCode.GROUP, OpCode.ENCODE_CHOSEN))
TOKENS = int(RowKind.TOKENS)


@internal(error_model="numpy")
def choose_or_combine(
    op: Any, row: int, source: int, target: int, vectors: Any, choices: ExpertChoices, work: Workspace
) -> None:
    """Score or choose the experts of one token, or add up their results."""
    first = row * choices.num_chosen
    if op.code == SCORE:
        score_experts(work.floats, source, op.num_columns, vectors, op.start, work.floats, target)
        return
    if op.code == CHOOSE and op.column == 1:
        choose_experts_by_sigmoid(
            work.floats,
            source,
            target,
            op.num_columns,
            op.count,
            op.flag != 0,
            op.scale,
            choices.ids,
            choices.weights,
            first,
        )
        return
    if op.code == CHOOSE:
        choose_experts(
            work.floats,
            source,
            op.num_columns,
            op.count,
            op.flag != 0,
            choices.ids,
            choices.weights,
            first,
        )
        if op.bias_start >= 0:
            for choice in range(first, first + choices.num_chosen):
                choices.weights[choice] *= vectors[op.bias_start + choices.ids[choice]]
        return
    floats = work.floats
    for column in range(op.target_width):
        floats[target + column] = 0
    if op.bias_start >= 0:
        _add_with_biases(op, first, target, vectors, choices, work)
        return
    for choice in range(first, first + choices.num_chosen):
        place = work.starts[op.source] + choices.place_of[choice] * op.source_width
        share = choices.weights[choice]
        for column in range(op.target_width):
            floats[target + column] += share * floats[place + column]


@internal(error_model="numpy")
def _add_with_biases(op: Any, first: int, target: int, vectors: Any, choices: ExpertChoices, work: Workspace) -> None:
    """Add up the results of a token's experts, each with a bias of its own."""
    floats = work.floats
    for choice in range(first, first + choices.num_chosen):
        place = work.starts[op.source] + choices.place_of[choice] * op.source_width
        bias = op.bias_start + choices.ids[choice] * op.num_columns
        share = choices.weights[choice]
        for column in range(op.num_columns):
            floats[target + column] += share * (floats[place + column] + vectors[bias + column])


@internal(error_model="numpy")
def run_experts(
    op: Any, weights: PackedWeights, step: StepInputs, choices: ExpertChoices, work: Workspace, share: int, size: int
) -> None:
    """Run a share of an operation over the choices of all tokens."""
    if op.code == GROUP:
        if share == 0:
            _group_by_expert(op.count, step.sizes[NUM_TOKENS] * choices.num_chosen, choices)
    elif op.code == ENCODE_CHOSEN:
        _encode_chosen(op, weights, choices, work, share, size)
    else:
        _multiply_by_expert(op, weights, choices, work, share, size)


@internal(error_model="numpy")
def _group_by_expert(num_experts: int, num_choices: int, choices: ExpertChoices) -> None:
    """Sort the choices by expert, those of one expert in the order of their tokens."""
    starts = choices.starts
    starts[: num_experts + 1] = 0
    for choice in range(num_choices):
        starts[choices.ids[choice] + 1] += 1
    for expert in range(num_experts):
        starts[expert + 1] += starts[expert]
    for choice in range(num_choices):
        expert = choices.ids[choice]
        choices.choice_at[starts[expert]] = choice
        choices.place_of[choice] = starts[expert]
        starts[expert] += 1
    for expert in range(num_experts, 0, -1):
        starts[expert] = starts[expert - 1]
    starts[0] = 0


@internal(error_model="numpy")
def _encode_chosen(
    op: Any, weights: PackedWeights, choices: ExpertChoices, work: Workspace, share: int, size: int
) -> None:
    for expert in range(share, op.count, size):
        first, last = choices.starts[expert], choices.starts[expert + 1]
        rows = work.starts[op.target] + first * op.target_width
        for place in range(first, last):
            is_of_token = op.source_rows == TOKENS
            source_row = choices.choice_at[place] // choices.num_chosen if is_of_token else place
            encode_row(
                weights.body,
                work.encoded,
                rows,
                last - first,
                place - first,
                op.num_columns,
                work.floats,
                work.starts[op.source] + source_row * op.source_width,
                0,
                op.source_width,
            )


@internal(error_model="numpy")
def _multiply_by_expert(
    op: Any, weights: PackedWeights, choices: ExpertChoices, work: Workspace, share: int, size: int
) -> None:
    for expert in range(op.count):
        first, last = choices.starts[expert], choices.starts[expert + 1]
        if first == last:
            continue
        matrix = Matrix(op.start + expert * op.stride, op.num_rows, op.num_columns)
        blocks = num_blocks(weights.body, matrix)
        matmul(
            weights.body,
            matrix,
            work.encoded,
            work.starts[op.source] + first * op.source_width,
            0,
            last - first,
            work.floats,
            work.starts[op.target] + first * op.target_width,
            op.target_width,
            False,
            blocks * share // size,
            blocks * (share + 1) // size,
        )
