"""The memory of a program between its operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cactus_actors.workers.kernels.aligned_memory import CACHE_LINE, aligned_zeros
from cactus_actors.workers.kernels.barrier import new_barrier
from cactus_actors.workers.runtime.op_codes import RowKind
from cactus_actors.workers.runtime.program import Buffer
from cactus_actors.workers.runtime.step_arguments import ExpertChoices, Workspace
from cactus_actors.workers.spec.model_config import Experts


def new_workspace(
    buffers: Sequence[Buffer], max_rows: Mapping[RowKind, int], *, threads: int, scratch_size: int, num_operations: int
) -> Workspace:
    """Zeroed buffers for that many rows of each kind, and `scratch_size` floats of scratch for each thread."""
    starts, sizes = [], {False: 0, True: 0}
    for buffer in buffers:
        starts.append(sizes[buffer.is_encoded])
        sizes[buffer.is_encoded] += buffer.width * buffer.num_rows(max_rows[buffer.rows], threads)
    return Workspace(
        floats=aligned_zeros((sizes[False] + CACHE_LINE,), np.float32),
        encoded=aligned_zeros((sizes[True],), np.uint8),
        starts=np.array(starts, np.int64),
        strides=np.array([buffer.stride for buffer in buffers], np.int64),
        places=np.zeros((threads, len(buffers)), np.int64),
        scratch=aligned_zeros((threads * scratch_size,), np.float32),
        scratch_size=scratch_size,
        barrier=new_barrier(),
        tasks=aligned_zeros((num_operations * (2 * threads + 2),), np.int64),
    )


def new_choices(experts: Experts | None, num_tokens: int) -> ExpertChoices:
    """Memory for the experts that `num_tokens` tokens choose; empty without experts."""
    num_choices = num_tokens * experts.num_chosen if experts else 0
    return ExpertChoices(
        num_chosen=experts.num_chosen if experts else 0,
        ids=np.zeros(num_choices, np.int32),
        weights=np.zeros(num_choices, np.float32),
        starts=np.zeros(experts.num_experts + 1 if experts else 1, np.int64),
        choice_at=np.zeros(num_choices, np.int64),
        place_of=np.zeros(num_choices, np.int64),
    )
