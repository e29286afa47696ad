"""Workers on processors of different instruction sets give the same bits, and a stream moves between them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cactus_actors.client import Client
from cactus_actors.protocol.results import Result
from cactus_actors.workers.kernels.instruction_sets import usable_instruction_sets
from tests.support.processes.separate_actors import Processes
from tests.support.services.running_service import OPTIONS, STORY, wait_until

pytestmark = pytest.mark.slow  # both compile the whole model

OF_SCORES = {**OPTIONS, "max_tokens": 300, "logprobs": True, "top_logprobs": 5}
COMPILES_S = 1800.0


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    processes = Processes(tmp_path, num_workers=0)
    yield processes
    processes.stop()


def bits_of(result: Result) -> tuple[object, ...]:
    """Everything that the model computed."""
    return result.text, result.token_ids, result.logprobs, result.measures, result.confidence


def test_a_stream_moves_to_a_worker_of_another_instruction_set(processes: Processes) -> None:
    best, *others = (it.name for it in usable_instruction_sets())
    other = "avx2" if "avx2" in others else others[0]
    with Client(processes.jobs, processes.stream, timeout=60.0) as client:
        processes.add_worker("w0", kernels=best)
        wait_until(client, lambda status: len(status.workers) == 1, COMPILES_S)
        undisturbed = client.complete(STORY, **OF_SCORES)

        processes.add_worker("w1", kernels=other)
        status = wait_until(client, lambda status: len(status.workers) == 2, COMPILES_S)
        assert {it.worker_id: it.kernels for it in status.workers} == {"w0": best, "w1": other}
        assert {it.weights for it in status.workers} == {"int8"}

        stream = client.stream(STORY, **OF_SCORES)
        streamed = list(next(stream).token_ids)
        [runs] = [it.worker_id for it in client.status().workers if it.num_running]
        processes.kill_worker(int(runs[1:]))
        streamed += [token for delta in stream for token in delta.token_ids]
        moved = stream.result()
        assert moved.attempts == 2
        assert moved.worker != runs
        assert bits_of(moved) == bits_of(undisturbed)
        assert streamed == undisturbed.token_ids

        processes.kill_worker(1 - int(runs[1:]))
        processes.add_worker("w2", kernels=other if runs == "w1" else best)
        assert bits_of(client.complete(STORY, **OF_SCORES)) == bits_of(undisturbed)
