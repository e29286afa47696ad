"""Microseconds per mask, and the cost of grammars for 16 sequences that decode together.

python -m benchmarks.structured --vocabulary ../smollm2/tokenizer.json --decode cactus-sprout
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cactus_actors.config_models import WeightFormat
from cactus_actors.models.catalog import resolve_model
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import Dispatch
from cactus_actors.structured import compile_request
from cactus_actors.structured.matcher import GrammarMatcher, Matchers
from cactus_actors.text.huggingface import tokenizer_from_json
from cactus_actors.text.text_model import load_text_model
from cactus_actors.text.tokenizer import Tokenizer

FORMS: dict[str, Options] = {
    "schema": Options(
        json_schema={
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "age": {"type": "integer", "minimum": 0, "maximum": 150},
                "tags": {"type": "array", "items": {"type": "string", "maxLength": 20}, "maxItems": 5},
                "price": {"type": "number", "minimum": 0},
            },
            "required": ["name", "age", "tags"],
        }
    ),
    "any object": Options(response_format={"type": "json_object"}),
    "regex": Options(regex=r"[a-z]{3,20}(\.[a-z]{3,20}){1,8}@[a-z]+\.(com|org)"),
    "GBNF": Options(grammar='root ::= item+\nitem ::= "- " [^\\n]+ "\\n" ("(" root ")")?'),
}
NUM_TEXTS = 30
MAX_TOKENS = 100
NUM_SEQUENCES = 16
NUM_TURNS = 15


def print_masks(tokenizer: Tokenizer, eos_ids: frozenset[int]) -> None:
    """Print CPU times of masks and steps along texts of random tokens, without the helper thread."""
    matchers = Matchers(tokenizer, eos_ids)
    rng = np.random.default_rng(0)
    for name, options in FORMS.items():
        started = time.perf_counter()
        grammar = compile_request(options, tokenizer)
        checked = time.perf_counter()
        matchers(grammar).bitmask()
        compiled = time.perf_counter()
        first, second = (checked - started) * 1e3, (compiled - checked) * 1e3
        print(f"{name}: checked in {first:.1f} ms, compiled in {second:.1f} ms")
        masks: list[float] = []
        steps: list[float] = []
        for _ in range(NUM_TEXTS):
            matcher = GrammarMatcher(grammar, matchers._compiled, tokenizer.vocab_size, _never)
            for _ in range(MAX_TOKENS):
                started = time.thread_time()
                mask = matcher.bitmask()
                masks.append(time.thread_time() - started)
                legal = _others(mask, eos_ids)
                if not legal.size:
                    break
                token_id = int(rng.choice(legal))
                started = time.thread_time()
                matcher.accept(token_id)
                steps.append(time.thread_time() - started)
                if matcher.is_finished:
                    break
        for what, seconds in {"mask": masks, "accept": steps}.items():
            middle, worst = np.quantile(seconds, [0.5, 0.99]) * 1e6
            print(f"  {what:6} p50 {middle:6.1f} us, p99 {worst:6.1f} us, of {len(seconds)}")


def _never(_: Callable[[], None]) -> None:
    """No helper: masks are computed when they are requested."""


def _others(mask: NDArray[np.int32], eos_ids: frozenset[int]) -> NDArray[np.int64]:
    legal = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little"))
    return legal[~np.isin(legal, list(eos_ids))]


def print_decode(name: str, weights: WeightFormat, threads: int) -> None:
    """Print tokens per second of sequences with and without a grammar, in turns."""
    from cactus_actors.workers.engine.engine import Engine
    from cactus_actors.workers.engine.options import EngineLimits, TextOptions
    from cactus_actors.workers.loading.load_model import load_model

    path = resolve_model(name)
    text = load_text_model(path)
    model = load_model(path, weights=weights, threads=threads)
    engine = Engine(
        model,
        TextOptions(text.tokenizer, text.eos_ids, new_constraint=Matchers(text.tokenizer, text.eos_ids)),
        EngineLimits(cache_blocks=NUM_SEQUENCES * 32, max_sequences=NUM_SEQUENCES),
    )
    schema = {"type": "array", "items": {"type": "string", "minLength": 30}, "minItems": 50}
    grammar = compile_request(Options(json_schema=schema), text.tokenizer)
    prompt = text.tokenizer.encode("A list of stories about small animals, as JSON:", add_special=True)
    rates: dict[str, list[float]] = {"": [], grammar: []}
    dispatch_id = 0
    for turn in range(NUM_TURNS):
        for form, measured in rates.items():
            for seed in range(NUM_SEQUENCES):
                dispatch_id += 1
                params = SamplingParams(max_tokens=120, ignore_eos=True, temperature=1.0, seed=seed)
                engine.add(Dispatch(dispatch_id, "0" * 32, prompt, [], params, grammar=form))
            num_tokens, started = 0, time.perf_counter()
            while engine.has_work:
                num_tokens += sum(len(delta.token_ids) for delta in engine.step())
            if turn:  # the first warms up
                measured.append(num_tokens / (time.perf_counter() - started))
    free, held = (max(measured) for measured in rates.values())  # other work can only slow it down
    print(f"{NUM_SEQUENCES} sequences: {free:.0f} tokens/s free, {held:.0f} with a grammar: {held / free:.2f}")
    model.close()


def main() -> None:
    """Run the measurements that the arguments select."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vocabulary", type=Path, help="a tokenizer.json; the end token is its id 2")
    parser.add_argument("--decode", metavar="MODEL", help="decode with this model")
    parser.add_argument("--weights", default="int8")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.vocabulary is not None:
        print_masks(tokenizer_from_json(arguments.vocabulary, {}), frozenset({2}))
    if arguments.decode is not None:
        print_decode(arguments.decode, arguments.weights, arguments.threads)


if __name__ == "__main__":
    main()
