"""Benchmark of the engine in process, without Ray or sockets: prefill and decode speed."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from cactus_actors.config_models import CacheFormat, WeightFormat
from cactus_actors.models.catalog import resolve_model
from cactus_actors.process.resident_memory import resident_mb
from cactus_actors.protocol.errors import ContextExceeded
from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import Dispatch, SequenceDelta
from cactus_actors.text import load_text_model
from cactus_actors.workers.engine.detokenizer import TokenBytes
from cactus_actors.workers.engine.engine import Engine
from cactus_actors.workers.engine.model import Model
from cactus_actors.workers.engine.options import EngineLimits, TextOptions
from cactus_actors.workers.loading.load_model import load_model, random_model

BLOCK_SIZE = 16
NUM_ROUNDS = 3


class BenchRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Results of one batch size; rates are totals over the batch, medians of the rounds.

    `step_ms_p50` is that of decode steps. `share_outside_kernels` is the part of the decode time outside
    compiled code: scheduling, text and accounting.
    """

    batch: int
    prompt_tokens: int
    decode_tokens: int
    prefill_tokens_per_second: float
    decode_tokens_per_second: float
    step_ms_p50: float
    resident_mb: float
    threads: int
    kernels: str
    weights: str
    share_outside_kernels: float


@dataclass(frozen=True, slots=True)
class BenchRound:
    """Measurements of one round, in seconds."""

    prefill_s: float
    step_s: list[float]  # of each decode step
    kernel_s: float  # the compiled code's part of all decode steps


class PlaceholderTokenizer:
    """A tokenizer for models without one: some text for every token."""

    def token_bytes(self, token_id: int) -> bytes:
        return bytes([32 + token_id % 95])


def run_bench(
    *,
    model: str | None = None,
    random: str | None = None,
    weights: WeightFormat = "int8",
    kv_cache: CacheFormat = "auto",
    threads: int = 1,
    batches: Sequence[int] = (1, 4, 16),
    prompt_tokens: int = 128,
    decode_tokens: int = 48,
    token_budget: int = 256,
    num_rounds: int = NUM_ROUNDS,
) -> Iterator[BenchRecord]:
    """One record for each batch size: random prompts, greedy, nothing ends early, no prefix is reused.

    Exactly one of `model` (name or path) and `random` (see `random_model`) is given. Raises ModelFileInvalid,
    ConfigurationInvalid, or ContextExceeded if prompt and completion do not fit the model.
    """
    loaded, tokenizer = _load(model, random, weights, kv_cache, threads)
    try:
        # A decode measurement lets early sequences run on until all have finished their prompts.
        longest = prompt_tokens + decode_tokens + -(-prompt_tokens * max(batches) // token_budget) + 2
        if longest > loaded.config.max_context:
            raise ContextExceeded(
                f"{longest} tokens do not fit a context of {loaded.config.max_context}", param="prompt_tokens"
            )
        for batch in batches:
            limits = EngineLimits(
                cache_blocks=batch * (longest // BLOCK_SIZE + 2),
                block_size=BLOCK_SIZE,
                max_sequences=batch,
                token_budget=max(token_budget, batch),
                max_step_s=math.inf,
            )
            engine = Engine(loaded, TextOptions(tokenizer, frozenset()), limits)
            bench = Bench(engine, loaded.config.vocab_size, batch, prompt_tokens, decode_tokens, longest)
            rounds = [bench.run_round(seed) for seed in range(num_rounds + 1)][1:]  # the first one warms up
            yield BenchRecord(
                batch=batch,
                prompt_tokens=prompt_tokens,
                decode_tokens=decode_tokens,
                prefill_tokens_per_second=statistics.median(batch * prompt_tokens / r.prefill_s for r in rounds),
                decode_tokens_per_second=statistics.median(batch * decode_tokens / sum(r.step_s) for r in rounds),
                step_ms_p50=1000 * statistics.median(step for r in rounds for step in r.step_s),
                resident_mb=resident_mb(),
                threads=threads,
                kernels=loaded.kernels,
                weights=weights,
                share_outside_kernels=statistics.median(1 - r.kernel_s / sum(r.step_s) for r in rounds),
            )
    finally:
        loaded.close()


@dataclass(frozen=True)
class Bench:
    """Measures batches of random prompts on an engine that has room for one batch."""

    engine: Engine
    vocab_size: int
    batch: int
    prompt_tokens: int
    decode_tokens: int
    longest: int  # tokens of a sequence

    def run_round(self, seed: int) -> BenchRound:
        """Prefill one batch of prompts, then decode another."""
        self._add_prompts(2 * seed, max_tokens=1)
        prefill_s = 0.0
        while self.engine.has_work:
            prefill_s += self._timed_step()[0]

        self._add_prompts(2 * seed + 1, max_tokens=self.longest - self.prompt_tokens)
        first_tokens: set[int] = set()
        while len(first_tokens) < self.batch:
            first_tokens |= {delta.dispatch_id for delta in self._timed_step()[1]}
        kernel_before = self.engine.counters.kernel_seconds
        step_s = [self._timed_step()[0] for _ in range(self.decode_tokens)]
        self.engine.abort_all()
        return BenchRound(prefill_s, step_s, self.engine.counters.kernel_seconds - kernel_before)

    def _timed_step(self) -> tuple[float, list[SequenceDelta]]:
        started = time.perf_counter()
        deltas = self.engine.step()
        return time.perf_counter() - started, deltas

    def _add_prompts(self, seed: int, *, max_tokens: int) -> None:
        generator = np.random.default_rng(seed)
        params = SamplingParams(max_tokens=max_tokens, ignore_eos=True, cache_prompt=False)
        for dispatch_id in range(self.batch):
            prompt = generator.integers(0, self.vocab_size, self.prompt_tokens).tolist()
            self.engine.add(Dispatch(dispatch_id, f"{dispatch_id:032x}", prompt, [], params))


def _load(
    model: str | None, random: str | None, weights: WeightFormat, kv_cache: CacheFormat, threads: int
) -> tuple[Model, TokenBytes]:
    assert (model is None) != (random is None), "exactly one of model and random"
    if random is not None:
        return random_model(random, weights=weights, kv_cache=kv_cache, threads=threads), PlaceholderTokenizer()
    assert model is not None
    path = resolve_model(model)
    loaded = load_model(path, weights=weights, kv_cache=kv_cache, threads=threads)
    return loaded, load_text_model(path).tokenizer
