"""A thread whose core another program takes leaves its shares of a step to the others."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cactus_actors.workers.engine.step_batch import Batch
from cactus_actors.workers.kernels.thread_team import ThreadTeam
from cactus_actors.workers.loading.load_model import load_model
from cactus_actors.workers.runtime import transformer
from cactus_actors.workers.runtime.compiled_step import step_of_rank
from cactus_actors.workers.runtime.step_arguments import Workspace

GOLDENS = Path(__file__).parent.parent / "goldens"
LATEST_S = 60.0
BLOCKS = 8


class LateThread:
    """The compiled step, which a second thread begins when all shares are complete, or after LATEST_S."""

    def __init__(self) -> None:
        self.came_last = False

    def typeof_pyval(self, argument: Any) -> Any:
        """The type of an argument, as that of the compiled step."""
        return step_of_rank.typeof_pyval(argument)

    def compile(self, signature: tuple[Any, ...]) -> Callable[..., None]:
        """The code for these types."""
        code = step_of_rank.compile(signature)

        def run(rank: int, *arguments: Any) -> None:
            if rank:
                (work,) = (each for each in arguments if isinstance(each, Workspace))
                self.came_last = has_complete_shares(work)
            code(rank, *arguments)

        return run


def has_complete_shares(work: Workspace) -> bool:
    """Wait until both shares of the last phase are complete: the last counter has their number."""
    until = time.monotonic() + LATEST_S
    while work.tasks[-1] < 2 and time.monotonic() < until:
        time.sleep(0.001)
    return bool(work.tasks[-1] == 2)


def batch_of(num_tokens: int) -> Batch:
    """The first tokens of two sequences, with the logits of all."""
    token_ids = np.random.default_rng(num_tokens).integers(0, 96, 2 * num_tokens, np.int32)
    return Batch(
        token_ids=token_ids,
        positions=np.tile(np.arange(num_tokens, dtype=np.int32), 2),
        sequence_of_token=np.repeat(np.arange(2, dtype=np.int32), num_tokens),
        block_tables=np.arange(2 * BLOCKS, dtype=np.int32).reshape(2, BLOCKS),
        logit_rows=np.arange(2 * num_tokens, dtype=np.int32),
    )


@pytest.mark.parametrize("num_tokens", [1, 5, 40])  # 80 rows are dealt in tasks
@pytest.mark.parametrize("family", ["llama3", "qwen35moe", "granite4-hybrid"])
def test_a_step_is_complete_before_its_late_thread_comes(
    monkeypatch: pytest.MonkeyPatch, family: str, num_tokens: int
) -> None:
    late, batch = LateThread(), batch_of(num_tokens)
    monkeypatch.setattr(transformer, "ThreadTeam", lambda size, _: ThreadTeam(size, late))
    model = load_model(GOLDENS / family, weights="int8", threads=2)
    alone = model.forward(batch, model.new_cache(2 * BLOCKS, num_slots=2)).copy()
    assert late.came_last
    monkeypatch.undo()
    model.close()
    model = load_model(GOLDENS / family, weights="int8", threads=2)
    together = model.forward(batch, model.new_cache(2 * BLOCKS, num_slots=2)).copy()
    model.close()
    assert np.isfinite(alone).all()
    assert (alone == together).all()
