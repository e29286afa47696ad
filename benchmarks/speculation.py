"""Speculation: acceptance and tokens per second, on prompts whose answers repeat parts of them.

python -m benchmarks.speculation --model cactus-sprout --drafts 4
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path

from cactus_actors.config_models import DEFAULT_MODEL
from cactus_actors.models.catalog import resolve_model
from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import Dispatch
from cactus_actors.text import TextModel, load_text_model
from cactus_actors.workers.engine.engine import Engine
from cactus_actors.workers.engine.model import Model
from cactus_actors.workers.engine.options import EngineLimits, TextOptions
from cactus_actors.workers.loading.load_model import load_model

CODE = """def total(items):
    result = 0
    for item in items:
        result = result + item
    return result


def product(items):
    result = 1
    for item in items:
        result = result * item
    return result


def largest(items):
"""

NEWS = (
    "The harbour of the small town was closed on Monday after a storm. The storm broke two of its piers. "
    "The mayor of the small town said that the harbour will open again when the piers are mended. "
)

PROMPTS = {
    "code": CODE,
    "repetition": "one two three four five six seven eight nine ten, " * 6,
    "summary": f"{NEWS * 2}\n\nIn short: the harbour of the small town",
    "chat": "What is a river, and where does it end?",
}


@dataclass(frozen=True)
class Run:
    """One batch of sequences, from the first step to the last."""

    tokens: list[list[int]]
    seconds: float
    num_drafts: int
    num_accepted: int

    @property
    def tokens_per_second(self) -> float:
        return sum(map(len, self.tokens)) / self.seconds


def run(model: Model, text: TextModel, prompts: list[list[int]], params: SamplingParams, drafts: int) -> Run:
    """Generate for all prompts together; the time counts from when all of them have a token."""
    num_tokens = sum(map(len, prompts)) + len(prompts) * params.max_tokens
    engine = Engine(
        model,
        TextOptions(text.tokenizer, text.eos_ids),
        EngineLimits(
            cache_blocks=num_tokens // 16 + 2 * len(prompts) + 1, max_sequences=len(prompts), max_drafts=drafts
        ),
    )
    tokens: list[list[int]] = [[] for _ in prompts]
    for number, prompt in enumerate(prompts):
        engine.add(Dispatch(number, f"{number:032x}", prompt, [], params))
    started = time.perf_counter()
    while engine.has_work:
        is_prefill = not all(tokens)
        for delta in engine.step():
            tokens[delta.dispatch_id] += delta.token_ids
        if is_prefill:
            started = time.perf_counter()
    seconds = time.perf_counter() - started
    counters = engine.counters
    return Run(tokens, seconds, counters.draft_tokens, counters.accepted_draft_tokens)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default=DEFAULT_MODEL)
    parser.add_argument("--weights", choices=("float32", "bfloat16", "int8", "int4"), default="int8")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--drafts", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--temperature", type=float, default=0.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--prompt", type=Path, help="a text file in place of the generated prompts")
    arguments = parser.parse_args()

    path = resolve_model(arguments.model)
    text = load_text_model(path)
    model = load_model(path, weights=arguments.weights, threads=arguments.threads)
    texts = {arguments.prompt.name: arguments.prompt.read_text()} if arguments.prompt else PROMPTS
    params = SamplingParams(max_tokens=arguments.tokens, temperature=arguments.temperature, seed=1, ignore_eos=True)
    for name, prompt in texts.items():
        prompts = [text.tokenizer.encode(prompt, add_special=True)] * arguments.batch
        pairs = [
            (run(model, text, prompts, params, 0), run(model, text, prompts, params, arguments.drafts))
            for _ in range(arguments.rounds)
        ]
        for plain, speculating in pairs:
            assert speculating.tokens == plain.tokens, "speculation changed a token"
        plain = max((pair[0] for pair in pairs), key=lambda run: run.tokens_per_second)
        speculating = max((pair[1] for pair in pairs), key=lambda run: run.tokens_per_second)
        record = {
            "prompt": name,
            "batch": arguments.batch,
            "prompt_tokens": len(prompts[0]),
            "drafted": speculating.num_drafts,
            "accepted": speculating.num_accepted,
            "acceptance": round(speculating.num_accepted / max(1, speculating.num_drafts), 3),
            "tokens_per_second": round(plain.tokens_per_second),
            "speculating_tokens_per_second": round(speculating.tokens_per_second),
            "gain": round(speculating.tokens_per_second / plain.tokens_per_second, 2),
        }
        print(json.dumps(record))
    model.close()


if __name__ == "__main__":
    main()
