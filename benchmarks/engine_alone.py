"""The engine with nothing around it, on texts that all wait in it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from typing import NamedTuple

from cactus_actors.models.catalog import resolve_model
from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import Dispatch
from cactus_actors.text import load_text_model
from cactus_actors.workers.engine.engine import Engine
from cactus_actors.workers.engine.options import EngineLimits, TextOptions
from cactus_actors.workers.loading.load_model import load_model

MODEL = "cactus-sprout"
SEQUENCES = 16
BLOCK_SIZE = 16


class EngineRun(NamedTuple):
    """What the texts took, and the tokens of their answers."""

    processor_s: float
    wall_s: float
    num_tokens: int


def engine_alone(rows: Sequence[str], max_tokens: int, *, threads: int = 1) -> EngineRun:
    """Run the texts as prompts of MODEL, SEQUENCES at a time, to `max_tokens` each; loading is not counted."""
    path = resolve_model(MODEL)
    text = load_text_model(path)
    prompts = [text.tokenizer.encode(row, add_special=True) for row in rows]
    longest = max(map(len, prompts)) + max_tokens + BLOCK_SIZE
    limits = EngineLimits(
        cache_blocks=SEQUENCES * (longest // BLOCK_SIZE + 2),
        block_size=BLOCK_SIZE,
        max_sequences=SEQUENCES,
        token_budget=256,
    )
    model = load_model(path, weights="int8", threads=threads)
    engine = Engine(model, TextOptions(text.tokenizer, frozenset()), limits)
    params = SamplingParams(max_tokens=max_tokens, ignore_eos=True)
    waiting = [*enumerate(prompts)]
    began, began_s, num_running, num_tokens = time.process_time(), time.perf_counter(), 0, 0
    while waiting or engine.has_work:
        while waiting and num_running < SEQUENCES:
            number, prompt = waiting.pop()
            engine.add(Dispatch(number, secrets.token_hex(16), prompt, [], params))
            num_running += 1
        for delta in engine.step():
            num_tokens += len(delta.token_ids)
            num_running -= delta.finish is not None
    return EngineRun(time.process_time() - began, time.perf_counter() - began_s, num_tokens)
