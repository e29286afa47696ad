"""Drafts of a model's head: steps and tokens per second by acceptance, on a random model.

With one thread, seconds are those of the processor, so that other programs disturb less.

python -m benchmarks.draft_heads --shape 0.8B --batch 1 4 16 --acceptance 0 0.6 0.8 0.95

The head is the shape's own, with random weights, and runs in full. Its logits are then changed so that each draft is
right with the given probability, if those before it are; the right tokens are those of a run without drafts.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from cactus_actors.config_models import WeightFormat
from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import Dispatch
from cactus_actors.workers.engine.engine import Engine
from cactus_actors.workers.engine.kv_cache import KVCache
from cactus_actors.workers.engine.model import DraftRows, Guesses, TokenGuesser
from cactus_actors.workers.engine.options import EngineLimits, TextOptions
from cactus_actors.workers.families.family import build_graph
from cactus_actors.workers.families.qwen3_5 import FAMILY
from cactus_actors.workers.loading.load_model import model_from_tensors
from cactus_actors.workers.loading.random_weights import random_tensors
from cactus_actors.workers.runtime.cache_shape import cache_shape_of
from cactus_actors.workers.runtime.transformer import TransformerModel
from cactus_actors.workers.spec.model_config import Layer, ModelConfig, RecurrentHeads
from cactus_actors.workers.spec.rotary import Rope

PROMPT_TOKENS = 64
WRONG_ID = 0
"""A token that a random model nearly never generates."""


class NoBytes:
    """Tokens without text."""

    def token_bytes(self, token_id: int) -> bytes:  # noqa: ARG002
        return b""


SHAPES = {
    "0.8B": (1024, 3584, 24, 8, 2, 16),
    "2B": (2048, 6144, 24, 8, 2, 16),
    "4B": (2560, 9216, 32, 16, 4, 32),
}
"""Hidden size, feed-forward size, layers, heads, key-value heads and value heads of Qwen3.5."""


def config_of(shape: str) -> ModelConfig:
    """A dense Qwen3.5 of this size, with its head."""
    hidden, ffn, num_layers, num_heads, num_kv_heads, num_value_heads = SHAPES[shape]
    return ModelConfig(
        family="Qwen3.5",
        vocab_size=248320,
        hidden_size=hidden,
        ffn_size=ffn,
        num_heads=num_heads,
        num_kv_heads=num_kv_heads,
        head_dim=256,
        norm_eps=1e-6,
        max_context=8192,
        tie_embeddings=True,
        ropes=(Rope(1e7, 64),),
        layers=tuple(Layer(kind="attention" if index % 4 == 3 else "delta") for index in range(num_layers)),
        num_taps=4,
        recurrent_heads=RecurrentHeads(num_key_heads=16, key_dim=128, num_value_heads=num_value_heads, value_dim=128),
        draft_layer=Layer(),
    )


class HintedHead:
    """The head of a model, whose guesses are right with a given probability.

    `right` has the token after a token at a position, in any of the sequences. The head runs for common tokens or for
    all of them; the right token need not be a common one.
    """

    def __init__(
        self, head: TokenGuesser, acceptance: float, right: dict[tuple[int, int], int], *, is_common: bool
    ) -> None:
        self._head = head
        self._acceptance = acceptance
        self._right = right
        self._is_common = is_common
        self._random = np.random.default_rng(0)
        self.num_common = head.num_common

    def guess(self, rows: DraftRows, cache: KVCache, *, is_common: bool) -> Guesses:  # noqa: ARG002
        """As the head, with the largest logit at the right token or at another one."""
        guesses = self._head.guess(rows, cache, is_common=self._is_common)
        best = guesses.logits.argmax(axis=1)
        for row, place in enumerate(zip(rows.positions.tolist(), rows.token_ids.tolist(), strict=True)):
            is_right = place in self._right and self._random.random() < self._acceptance
            best[row] = self._right[place] if is_right else WRONG_ID
        logits = np.zeros((len(best), int(best.max()) + 1), np.float32)
        logits[np.arange(len(best)), best] = 1
        return Guesses(logits, guesses.hidden)


@dataclass(frozen=True)
class Run:
    """One batch of sequences, counted from when all of them have a token."""

    tokens: list[list[int]]
    num_tokens: int
    num_steps: int
    seconds: float
    num_drafts: int = 0
    num_accepted: int = 0

    @property
    def tokens_per_second(self) -> float:
        return self.num_tokens / self.seconds


def new_engine(model: TransformerModel, batch: int, max_drafts: int, arguments: argparse.Namespace) -> Engine:
    """An engine for a batch of sequences."""
    num_tokens = batch * (PROMPT_TOKENS + arguments.tokens)
    limits = EngineLimits(cache_blocks=num_tokens // 16 + 2 * batch, max_sequences=batch, max_drafts=max_drafts)
    return Engine(model, TextOptions(NoBytes(), []), limits, clock_of(arguments))


def clock_of(arguments: argparse.Namespace) -> Callable[[], float]:
    """Seconds of the processor for one thread, of the clock for more."""
    return time.process_time if arguments.threads == 1 else time.perf_counter


def run(engine: Engine, prompts: list[list[int]], params: SamplingParams, clock: Callable[[], float]) -> Run:
    """Generate for all prompts together."""
    tokens: list[list[int]] = [[] for _ in prompts]
    for number, prompt in enumerate(prompts):
        engine.add(Dispatch(number, f"{number:032x}", prompt, [], params))
    engine.counters.reset()
    started, num_steps, num_first = clock(), 0, 0
    while engine.has_work:
        is_prefill = not all(tokens)
        for delta in engine.step():
            tokens[delta.dispatch_id] += delta.token_ids
        num_steps += 1
        if is_prefill:
            started, num_steps, num_first = clock(), 0, sum(map(len, tokens))
    seconds, counters = clock() - started, engine.counters
    num_generated = sum(map(len, tokens)) - num_first
    return Run(tokens, num_generated, num_steps, seconds, counters.draft_tokens, counters.accepted_draft_tokens)


def following(prompts: list[list[int]], tokens: list[list[int]]) -> dict[tuple[int, int], int]:
    """The token after each (position, token)."""
    whole = [prompt + completion for prompt, completion in zip(prompts, tokens, strict=True)]
    return {
        (position, token): next_token for each in whole for position, (token, next_token) in enumerate(pairwise(each))
    }


def compare(model: TransformerModel, batch: int, arguments: argparse.Namespace) -> None:
    """Print a line for each acceptance: the best of some rounds, each without drafts and with those of every one.

    The first round of each engine measures the costs of its steps, and does not count.
    """
    generator = np.random.default_rng(1)
    prompts = [generator.integers(1, model.config.vocab_size, PROMPT_TOKENS).tolist() for _ in range(batch)]
    params = SamplingParams(max_tokens=arguments.tokens, temperature=0.0, ignore_eos=True, cache_prompt=False)
    clock, head = clock_of(arguments), model.draft_head
    plain_engine, plain = new_engine(model, batch, 0, arguments), list[Run]()
    right: dict[tuple[int, int], int] = {}
    engines: dict[float, Engine] = {}
    for acceptance in arguments.acceptance if head is not None else ():
        assert head is not None
        hinted = HintedHead(head, acceptance, right, is_common=not arguments.whole_vocabulary)
        model.draft_head = hinted  # type: ignore[assignment]
        engines[acceptance] = new_engine(model, batch, arguments.drafts, arguments)
    drafting: dict[float, list[Run]] = {acceptance: [] for acceptance in engines}
    for _ in range(arguments.rounds + 1):
        plain.append(run(plain_engine, prompts, params, clock))
        right.update(following(prompts, plain[-1].tokens))
        for acceptance, engine in engines.items():
            drafting[acceptance].append(run(engine, prompts, params, clock))
            assert drafting[acceptance][-1].tokens == plain[-1].tokens, "drafts changed a token"
    model.draft_head = head
    without = max(plain[1:], key=lambda each: each.tokens_per_second)
    record = {"batch": batch, "steps": without.num_steps, "tokens_per_second": round(without.tokens_per_second, 2)}
    print(json.dumps(record), flush=True)
    for acceptance, runs in drafting.items():
        best = max(runs[1:], key=lambda each: each.tokens_per_second)
        record = {
            "batch": batch,
            "head_is_right": acceptance,
            "drafted": best.num_drafts,
            "accepted": best.num_accepted,
            "steps": best.num_steps,
            "tokens_per_second": round(best.tokens_per_second, 2),
            "gain": round(best.tokens_per_second / without.tokens_per_second, 2),
        }
        print(json.dumps(record), flush=True)


def describe(model: TransformerModel) -> dict[str, int]:
    """Weights of the head, and the memory of the cache that it takes: bytes of a block and of a state."""
    if model.config.draft_layer is None:
        return {}
    with_head, without = (build_graph(FAMILY, each) for each in (model.config, without_head(model.config)))
    costs = [cache_shape_of(graph).cost(16, model.kv_format) for graph in (with_head, without)]
    return {
        "weights_of_head": with_head.num_weights - without.num_weights,
        "block_bytes": costs[1].block_bytes,
        "block_bytes_of_head": costs[0].block_bytes - costs[1].block_bytes,
        "state_bytes_of_head": costs[0].state_bytes - costs[1].state_bytes,
    }


def without_head(config: ModelConfig) -> ModelConfig:
    """The same model without its head."""
    return replace(config, draft_layer=None)


def load(shape: str, weights: WeightFormat, threads: int, *, draft_head: bool) -> TransformerModel:
    """A random model of this shape."""
    config = config_of(shape)
    config = config if draft_head else without_head(config)
    model = model_from_tensors(config, dict(random_tensors(config, 0).items()), weights=weights, threads=threads)
    assert isinstance(model, TransformerModel)
    return model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--shape", choices=SHAPES, default="0.8B")
    parser.add_argument("--weights", choices=("float32", "bfloat16", "int8", "int4"), default="int8")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--drafts", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--acceptance", type=float, nargs="+", default=[0.0, 0.6, 0.8, 0.95])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--whole-vocabulary", action="store_true", help="drafts of all tokens, not of common ones")
    parser.add_argument("--without-head", action="store_true", help="only the rate of a model without its head")
    arguments = parser.parse_args()
    model = load(arguments.shape, arguments.weights, arguments.threads, draft_head=not arguments.without_head)
    print(json.dumps({"shape": arguments.shape, "weights": model.num_weights, **describe(model)}), flush=True)
    for batch in arguments.batch:
        compare(model, batch, arguments)
    model.close()


if __name__ == "__main__":
    main()
