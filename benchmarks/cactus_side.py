"""The engine of this project, in process, as one side of a comparison (see side.py).

python benchmarks/cactus_side.py MODEL WEIGHTS THREADS
"""

from __future__ import annotations

import json
import math
import statistics
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from cactus_actors.config_models import WeightFormat
from cactus_actors.models.catalog import resolve_model
from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import Dispatch, SequenceDelta
from cactus_actors.workers.engine.engine import Engine
from cactus_actors.workers.engine.options import EngineLimits, TextOptions
from cactus_actors.workers.engine.step_time_limiter import MAX_STEP_S
from cactus_actors.workers.loading.load_model import load_model

BLOCK_SIZE = 16
TOKEN_BUDGET = 256
FEWEST_PROMPT_TOKENS = 16
"""Tokens of prompts that a step beside answers has at least (see `prompt_share.py`)."""
FIRST_ORDINARY_ID = 300


class PlaceholderTokenizer:
    """A stand-in for the tokenizer that returns some text for every token."""

    def token_bytes(self, token_id: int) -> bytes:
        return bytes([32 + token_id % 95])


class CactusSide:
    """One model. An engine is kept until a measurement needs one of another size; `clock` is that of a closed loop."""

    def __init__(
        self, path: Path, weights: WeightFormat, threads: int, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._model = load_model(path, weights=weights, threads=threads)
        self._clock = clock
        self._kind: tuple[int, int, bool] | None = None
        self._engine: Engine | None = None
        self._dispatch_ids = count(1)

    def about(self) -> dict[str, Any]:
        """Description of the side, for the printed table."""
        return {"kernels": self._model.kernels}

    def prefill(self, batch: int, prompt_tokens: int, seed: int) -> dict[str, float]:
        """Time to the first tokens of a batch of new prompts."""
        engine = self._sized(batch, prompt_tokens + 1)
        self._add(engine, self._prompts(seed, batch, prompt_tokens), max_tokens=1)
        seconds = 0.0
        while engine.has_work:
            seconds += timed_step(engine)[0]
        return {"seconds": seconds, "tokens": batch * prompt_tokens}

    def decode(self, batch: int, prompt_tokens: int, decode_tokens: int, seed: int, repeated: bool) -> dict[str, float]:
        """Time of decode steps of a batch after its prompts; `repeated` prompts may be found in the cache."""
        while_others_prefill = -(-prompt_tokens * batch // FEWEST_PROMPT_TOKENS)
        longest = prompt_tokens + decode_tokens + while_others_prefill + 2
        engine = self._sized(batch, longest)
        prompts = self._prompts(seed, batch, prompt_tokens)
        self._add(engine, prompts, max_tokens=longest - prompt_tokens, cache_prompt=repeated)
        started: set[int] = set()
        while len(started) < batch:
            started |= {delta.dispatch_id for delta in timed_step(engine)[1]}
        steps = [timed_step(engine) for _ in range(decode_tokens)]
        engine.abort_all()
        num_tokens = sum(len(delta.token_ids) for _, deltas in steps for delta in deltas)
        assert num_tokens == batch * decode_tokens, "a sequence ended before the last step"
        return {"seconds": sum(seconds for seconds, _ in steps), "tokens": num_tokens}

    def first_token(self, prefix_tokens: int, suffix_tokens: int, seed: int, cached: bool) -> dict[str, float]:
        """Time to the first token of a single prompt: its prefix is in the cache, or it is new."""
        engine = self._sized(4, prefix_tokens + suffix_tokens + 1)
        prefix = self._prompts(-1 if cached else seed, 1, prefix_tokens)[0]
        if cached:
            self._add(engine, [prefix], max_tokens=1, cache_prompt=True)
            while engine.has_work:
                engine.step()
        prompt = prefix + self._prompts(seed, 1, suffix_tokens)[0]
        self._add(engine, [prompt], max_tokens=1, cache_prompt=cached)
        seconds, found = 0.0, 0
        while engine.has_work:
            step_s, deltas = timed_step(engine)
            seconds += step_s
            found = max([found, *(delta.cached_tokens for delta in deltas)])
        assert cached == (found > 0.9 * prefix_tokens), "the prefix cache did not do what is measured"
        return {"seconds": seconds, "tokens": 1}

    def closed_loop(
        self, concurrency: int, requests: int, prompt_tokens: int, decode_tokens: int, seed: int
    ) -> dict[str, Any]:
        """Closed-loop load: each of `concurrency` callers sends a request as soon as it has the last answer."""
        engine = self._sized(concurrency, prompt_tokens + decode_tokens, paced=True)
        waiting = self._prompts(seed, requests, prompt_tokens)
        before: dict[int, float] = {}
        has_token: set[int] = set()
        first_token_ms: list[float] = []
        inter_token_ms: list[float] = []
        num_tokens = 0
        kernel_s, began = engine.counters.kernel_seconds, self._clock()
        while waiting or engine.has_work:
            while waiting and engine.num_sequences < concurrency:
                for dispatch_id in self._add(engine, [waiting.pop()], max_tokens=decode_tokens):
                    before[dispatch_id] = self._clock()
            deltas = engine.step()
            now = self._clock()
            for delta in deltas:
                number = delta.dispatch_id
                gaps = inter_token_ms if number in has_token else first_token_ms
                gaps.append(1000 * (now - before[number]))
                has_token.add(number)
                before[number] = now
                num_tokens += len(delta.token_ids)
        seconds = self._clock() - began
        return {
            "output_tokens_per_second": num_tokens / seconds,
            "kernel_share": (engine.counters.kernel_seconds - kernel_s) / seconds,
            "ttft_ms_p50": statistics.median(first_token_ms),
            "ttft_ms_p99": float(np.percentile(first_token_ms, 99)),
            "inter_token_ms_p50": statistics.median(inter_token_ms),
            "inter_token_ms_p99": float(np.percentile(inter_token_ms, 99)),
        }

    def _sized(self, batch: int, longest: int, *, paced: bool = False) -> Engine:
        """The engine for batches of this size; with `paced`, it has the step limits of a service."""
        kind = (batch, longest, paced)
        if self._engine is None or kind != self._kind:
            self._engine = None  # its memory is free before the next takes more
            self._engine = Engine(
                self._model,
                TextOptions(PlaceholderTokenizer(), frozenset()),
                EngineLimits(
                    cache_blocks=batch * (longest // BLOCK_SIZE + 2),
                    block_size=BLOCK_SIZE,
                    max_sequences=batch,
                    token_budget=max(TOKEN_BUDGET, batch),
                    max_step_s=MAX_STEP_S if paced else math.inf,
                ),
                self._clock,
            )
            self._kind = kind
        return self._engine

    def _prompts(self, seed: int, batch: int, num_tokens: int) -> list[list[int]]:
        generator = np.random.default_rng(seed + 1)
        size = (batch, num_tokens)
        prompts: list[list[int]] = generator.integers(FIRST_ORDINARY_ID, self._model.config.vocab_size, size).tolist()
        return prompts

    def _add(
        self, engine: Engine, prompts: list[list[int]], *, max_tokens: int, cache_prompt: bool = False
    ) -> list[int]:
        params = SamplingParams(max_tokens=max_tokens, ignore_eos=True, cache_prompt=cache_prompt)
        added = [next(self._dispatch_ids) for _ in prompts]
        for dispatch_id, prompt in zip(added, prompts, strict=True):
            engine.add(Dispatch(dispatch_id, f"{dispatch_id:032x}", prompt, [], params))
        return added


def timed_step(engine: Engine) -> tuple[float, list[SequenceDelta]]:
    """Return the seconds of one step, and its output."""
    started = time.perf_counter()
    deltas = engine.step()
    return time.perf_counter() - started, deltas


def main() -> None:
    model, weights, threads = sys.argv[1:]
    side = CactusSide(resolve_model(model), weights, int(threads))  # type: ignore[arg-type]  # checked there
    for line in sys.stdin:
        request = json.loads(line)
        answer = getattr(side, request.pop("measurement"))(**request)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
