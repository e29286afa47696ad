"""A thread whose core another program takes leaves its shares of a step to the others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from cactus_actors.workers.engine.step_batch import Batch
from cactus_actors.workers.kernels.thread_team import ThreadTeam
from cactus_actors.workers.loading.load_model import load_model
from cactus_actors.workers.runtime.compiled_step import step_of_rank
from cactus_actors.workers.runtime.transformer import TransformerModel

GOLDENS = Path(__file__).parent.parent / "goldens"
LATEST_S = 60.0
BLOCKS = 8


class LateThread:
    """A model of two threads, of which the second begins a step when `come` is called."""

    def __init__(self, directory: Path) -> None:
        self._may_come = threading.Event()
        model = load_model(directory, weights="int8", threads=2)
        assert isinstance(model, TransformerModel)
        self.model = model
        self.model._team.close()
        self.model._team = ThreadTeam(2, self)

    def typeof_pyval(self, argument: Any) -> Any:
        """The type of an argument, as that of the compiled step."""
        return step_of_rank.typeof_pyval(argument)

    def compile(self, signature: tuple[Any, ...]) -> Callable[..., None]:
        """The compiled step, behind a wait of the second thread."""
        code = step_of_rank.compile(signature)

        def run(rank: int, *arguments: Any) -> None:
            if rank:
                self._may_come.wait()
            code(rank, *arguments)

        return run

    @property
    def has_complete_shares(self) -> bool:
        """True if all shares of the last phase are complete: the last counter has their number."""
        return int(self.model._last.workspace.tasks[-1]) == 2

    def come(self) -> None:
        self._may_come.set()


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


def logits_without_the_second_thread(late: LateThread, batch: Batch) -> NDArray[np.float32]:
    """The logits as they are before the second thread begins."""
    model = late.model
    step = threading.Thread(target=model.forward, args=(batch, model.new_cache(2 * BLOCKS, num_slots=2)))
    model._make_room(len(batch.token_ids), len(batch.logit_rows))
    step.start()
    try:
        until = time.monotonic() + LATEST_S
        while not late.has_complete_shares:
            assert time.monotonic() < until, "the first thread waits for the second one"
            time.sleep(0.001)
        return model._last.rows_of(model._last.program.logits, len(batch.logit_rows), model.config.vocab_size).copy()
    finally:
        late.come()
        step.join()


@pytest.mark.parametrize("num_tokens", [1, 5, 40])  # 80 rows are dealt in tasks
@pytest.mark.parametrize("family", ["llama3", "qwen35moe", "granite4-hybrid"])
def test_a_step_is_complete_before_its_late_thread_comes(family: str, num_tokens: int) -> None:
    late, batch = LateThread(GOLDENS / family), batch_of(num_tokens)
    actual = logits_without_the_second_thread(late, batch)
    together = late.model.forward(batch, late.model.new_cache(2 * BLOCKS, num_slots=2)).copy()
    late.model.close()
    assert np.isfinite(actual).all()
    assert (actual == together).all()
