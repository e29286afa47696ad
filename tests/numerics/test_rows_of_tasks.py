"""Steps whose rows go through runs in tasks: each thread has rows of its own for values that one run uses."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from cactus_actors.workers.engine.model import Model
from cactus_actors.workers.engine.step_batch import Batch
from cactus_actors.workers.loading.load_model import model_from_tensors
from cactus_actors.workers.loading.random_weights import random_tensors
from tests.support.models.exactness_configs import LLAMA

THREADS = (1, 2, 3)


@pytest.fixture(scope="module", params=["int8", pytest.param("int4", marks=pytest.mark.slow)])
def models(request: pytest.FixtureRequest) -> Iterator[list[Model]]:
    """The same model on some numbers of threads."""
    made = [model_from_tensors(LLAMA, random_tensors(LLAMA, 1), weights=request.param, threads=n) for n in THREADS]
    yield made
    for model in made:
        model.close()


def prompt_of(length: int) -> Batch:
    """A prompt of one sequence, of which all tokens have logits."""
    rows = np.arange(length, dtype=np.int32)
    return Batch(
        token_ids=rows * 7 % LLAMA.vocab_size,
        positions=rows,
        sequence_of_token=np.zeros(length, np.int32),
        block_tables=np.arange(-(-length // 16), dtype=np.int32)[None],
        logit_rows=rows,
    )


# The last task of 39 rows on a thread has all of them; 64 rows on two are a task each, in memory for as many.
@pytest.mark.parametrize("length", [31, 39, 63, 64, 71, 95, 96, 103, 120])
def test_logits_are_the_same_on_any_number_of_threads(models: list[Model], length: int) -> None:
    batch = prompt_of(length)
    logits = [model.forward(batch, model.new_cache(8)).copy() for model in models]
    one_by_one = models[0].new_cache(8)
    for row in range(length):
        step = Batch(
            token_ids=batch.token_ids[row : row + 1],
            positions=batch.positions[row : row + 1],
            sequence_of_token=np.zeros(1, np.int32),
            block_tables=batch.block_tables,
            logit_rows=np.zeros(1, np.int32),
        )
        expected = models[0].forward(step, one_by_one)
        for each in logits:
            assert (each[row] == expected[0]).all(), row
