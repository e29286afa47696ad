"""Microseconds to sample one row, by rules, vocabulary and flatness of the distribution.

python -m benchmarks.sampler --rows 16
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np
from numpy.typing import NDArray

from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import Dispatch
from cactus_actors.workers.engine.detokenizer import Detokenizer
from cactus_actors.workers.engine.sampler import Sampler
from cactus_actors.workers.engine.sequence import Sequence
from cactus_actors.workers.engine.step_batch import SequenceChunk

VOCABULARIES = (49_152, 151_936)
SPREADS = {"flat": 0.1, "wide": 1.5, "peaked": 4.0}
RULES: dict[str, dict[str, object]] = {
    "greedy": {},
    "temperature": {"temperature": 0.8},
    "top_p": {"temperature": 0.8, "top_p": 0.9},
    "top_k": {"temperature": 0.8, "top_k": 40},
    "min_p": {"temperature": 0.8, "min_p": 0.05},
    "default": {"temperature": 0.6, "top_p": 0.95, "top_k": 20},
    "penalties": {"repeat_penalty": 1.1, "presence_penalty": 0.5, "repeat_last_n": 64},
    "bias": {"logit_bias": tuple((token_id, 1.0) for token_id in range(100))},
    "likely 20": {"num_logprobs": 20},
    "typical_p": {"temperature": 0.8, "typical_p": 0.9},
    "typical_p of top_k": {"temperature": 0.8, "typical_p": 0.9, "top_k": 40},
    "top_k 1000": {"temperature": 0.8, "top_k": 1000},
    "mirostat 1": {"temperature": 0.8, "mirostat": 1},
    "mirostat 2": {"temperature": 0.8, "mirostat": 2},
}
MASKED = {
    "mask, greedy": {},
    "mask, default": RULES["default"],
}


class NoBytes:
    """A stand-in for a tokenizer."""

    def token_bytes(self, token_id: int) -> bytes:  # noqa: ARG002
        return b""


class EveryOther:
    """A constraint that allows half of the vocabulary."""

    is_finished = False

    def __init__(self, vocab_size: int) -> None:
        self._mask = np.full(vocab_size // 32, 0x55555555, dtype=np.int32)

    def accept(self, token_id: int) -> None:
        """Change nothing."""

    def bitmask(self) -> NDArray[np.int32]:
        """The even tokens."""
        return self._mask


def make_chunk(rule: dict[str, object], constraint: EveryOther | None = None) -> SequenceChunk:
    params = SamplingParams(max_tokens=100, seed=3, **rule)  # type: ignore[arg-type]  # of plain values
    dispatch = Dispatch(1, "0" * 32, list(range(100)), [], params)
    detokenizer = Detokenizer(NoBytes(), params)
    sequence = Sequence(dispatch, detokenizer, max_context=4096, block_size=16, constraint=constraint)
    return SequenceChunk(sequence, sequence.num_tokens)


def microseconds(sampler: Sampler, vocab_size: int, spread: float, chunk: SequenceChunk, num_rows: int) -> float:
    """The fastest of many calls, per row."""
    logits = np.random.default_rng(0).normal(scale=spread, size=(num_rows, vocab_size)).astype(np.float32)
    durations = []
    for _ in range(30):
        started = time.perf_counter()
        sampler.sample(logits, [chunk] * num_rows)
        durations.append(time.perf_counter() - started)
    return round(1e6 * min(durations) / num_rows, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=8)
    arguments = parser.parse_args()
    sampler = Sampler([2])
    for vocab_size in VOCABULARIES:
        for name, rule in (RULES | MASKED).items():
            chunk = make_chunk(rule, EveryOther(vocab_size) if name in MASKED else None)
            record = {
                shape: microseconds(sampler, vocab_size, spread, chunk, arguments.rows)
                for shape, spread in SPREADS.items()
            }
            print(json.dumps({"vocabulary": vocab_size, "rule": name, **record}), flush=True)


if __name__ == "__main__":
    main()
